import assert from 'node:assert'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import type { Profile, ProfileDocument } from '#bundles/profiler/profile/profile.ts'
import { connectAgent } from '#tests/support/agent.ts'
import { type Json, mergeTrees } from '#tests/support/json-tree.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { exportLinksOf, panelLinksOf } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const token = 'd00001'
const other = 'd00002'

/** The stored data of a request and of its process. */
interface Stored {
  readonly data: Json
  readonly process: Json
}

/** Where a value is: names and indexes from the root. */
type Path = readonly (string | number)[]

/** The stored data of requests that use all parts of the profiler, in one profile. */
async function createExhibition(t: Test) {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle], variables: { PROFILER_MCP: '1' } })
  const { url } = await serveKernel(t, kernel)
  const tokens = (await askRichly(url)).map(({ token }) => token)
  const redirected = await fetch(`${url}/redir`)
  tokens.push(String(redirected.headers.get('x-debug-token')))
  const found = await Promise.all(tokens.map(token => kernel.storedOf({ headers: { get: () => token } })))
  const [first] = found
  assert(first)
  const { profile } = first
  const stored: Stored = {
    data: found.map(({ profile }) => toJson(profile.data)).reduce(mergeTrees),
    process: toJson(profile.processData),
  }
  return {
    kernel,
    url,
    profile,
    stored,
    agent: await connectAgent(
      t,
      // Between two questions the server may close an idle connection.
      new StreamableHTTPClientTransport(new URL(`${url}/_profiler/mcp`), {
        requestInit: { headers: { connection: 'close' } },
      }),
    ),
  }
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}

/** The paths of all values in a tree, a collector's own value first. */
function* pathsOf(tree: Json, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (typeof tree !== 'object' || tree === null) return
  for (const [name, value] of Object.entries(tree))
    yield* pathsOf(value, [...path, Array.isArray(tree) ? Number(name) : name])
}

/** The tree with another value at a path, as far as the path still exists. */
function replace(tree: Json, [name, ...rest]: Path, value: Json): Json {
  if (name === undefined) return value
  if (typeof tree !== 'object' || tree === null || !(name in tree)) return tree
  const old = (tree as { readonly [key: string | number]: Json })[name] ?? null
  if (Array.isArray(tree)) return tree.with(Number(name), replace(old, rest, value))
  return { ...tree, [name]: replace(old, rest, value) }
}

t.test('with any damage in a profile, every page, export and tool answers', async t => {
  const { agent, kernel, profile, stored } = await createExhibition(t)
  const { client, records, storage } = kernel
  const keep = (token: string, { data, process }: Stored) => {
    const { children, failures, schemaVersion } = profile as Profile
    const summary = { ...profile.summary, token }
    // Only the frame of a profile is unchanged.
    const document = { schemaVersion, summary, children, failures, data } as ProfileDocument
    storage.append({ summary, text: JSON.stringify(document) }, JSON.stringify(process))
  }
  keep(token, stored)
  keep(other, stored)

  const whole = `/_profiler/${token}`
  const { text: menu } = await client.get(whole)
  const paths = [
    ...panelLinksOf(menu, token),
    ...['', '.json', '.md', '.json?panel=request', '.md?panel=time', '/replay'].map(end => whole + end),
    ...exportLinksOf(menu),
    ...[`a=${token}&b=${other}`, `a=${other}&b=${token}`].map(query => `/_profiler/compare?${query}`),
    `/_wdt/${token}`,
    '/_profiler/latest',
    '/_profiler/routes',
    '/_profiler/empty/search/results',
  ]
  t.ok(paths.length > 25, 'the menu names the panels')
  const { tools } = await agent.client.listTools()
  const givenOf = (properties: object = {}) => {
    const given = { token, with: other, panel: 'request' }
    return Object.fromEntries(Object.entries(given).filter(([name]) => name in properties))
  }

  /** The wrong answers, one line each. */
  async function findOffenders(): Promise<string[]> {
    const offenders: string[] = []
    const logged = records.length
    for (const path of paths) {
      const { status, text } = await client.get(path, { headers: { 'x-profiler': 'off' } })
      if (status !== 200) offenders.push(`${path}: ${status}`)
      if (/\bNaN\b|\[object /.test(text)) offenders.push(`${path}: shows a value that is none`)
    }
    for (const { inputSchema, name } of tools) {
      const { isError, text } = await agent.ask(name, givenOf(inputSchema.properties))
      if (isError) offenders.push(`${name}: ${text}`)
    }
    offenders.push(
      ...records
        .slice(logged)
        .filter(({ level }) => level !== 'info' && level !== 'debug')
        .map(({ message }) => message),
    )
    return offenders
  }

  t.strictSame(await findOffenders(), [], 'all is well as long as nothing is damaged')
  const places = [...pathsOf(stored as unknown as Json)].filter(({ length }) => length > 1)
  // Half of the damage is near the root: whole collectors, lists and items.
  const shallow = places.filter(path => path.length <= 4)
  const place = fc.oneof(fc.constantFrom(...shallow), fc.constantFrom(...places))
  const damage = fc.array(fc.tuple(place, fc.jsonValue() as fc.Arbitrary<Json>), { minLength: 1, maxLength: 30 })
  const property = fc.asyncProperty(damage, async damages => {
    const damaged = damages.reduce((tree, [path, value]) => replace(tree, path, value), stored as unknown as Json)
    keep(token, damaged as unknown as Stored)
    assert.deepStrictEqual(await findOffenders(), [])
    const { text } = await client.get(`${whole}.json`, { headers: { 'x-profiler': 'off' } })
    // JSON has no -0.
    const { data } = JSON.parse(JSON.stringify(damaged)) as Stored
    assert.deepStrictEqual(JSON.parse(text).data, data, 'data is what is stored')
  })
  await t.resolves(fc.assert(property, { numRuns: provenRuns(12) }))
})
