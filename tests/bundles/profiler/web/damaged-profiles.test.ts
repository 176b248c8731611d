import assert from 'node:assert'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { linkToFinding, writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import type { Profile, ProfileDocument } from '#bundles/profiler/profile/profile.ts'
import { toToolbarView } from '#bundles/profiler/web/toolbar/toolbar-view.ts'
import { connectAgent } from '#tests/support/agent.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
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

/**
 * Random values in some places of stored data: as often for each collector, and half of them in
 * whole collectors, lists and items.
 */
function damageOf(stored: Stored, most: number): fc.Arbitrary<Stored> {
  const tree = stored as unknown as Json
  const collectors = new Map<string, Path[]>()
  for (const path of pathsOf(tree)) {
    const [, collector] = path
    // The items of a list have the same fields.
    if (collector === undefined || path.some(name => Number(name) > 3)) continue
    collectors.set(String(collector), [...(collectors.get(String(collector)) ?? []), path])
  }
  const placeOf = (paths: readonly Path[]) =>
    fc.oneof(fc.constantFrom(...paths.filter(({ length }) => length <= 4)), fc.constantFrom(...paths))
  const place = fc.oneof(...[...collectors.values()].map(placeOf))
  // Texts may be the name of what the pages must not show.
  const value = fc
    .jsonValue()
    .filter(json => !/NaN|undefined|\[object/.test(JSON.stringify(json))) as fc.Arbitrary<Json>
  const damage = fc.array(fc.tuple(place, value), { minLength: 1, maxLength: most, size: 'max' })
  return damage.map(
    damages => damages.reduce((tree, [path, value]) => replace(tree, path, value), tree) as unknown as Stored,
  )
}

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
    agent: await connectAgent(t, new StreamableHTTPClientTransport(new URL(`${url}/_profiler/mcp`))),
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
  if (typeof tree !== 'object' || tree === null || !Object.hasOwn(tree, name)) return tree
  const old = (tree as { readonly [key: string | number]: Json })[name] ?? null
  if (Array.isArray(tree)) return typeof name === 'number' ? tree.with(name, replace(old, rest, value)) : tree
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
  const property = fc.asyncProperty(damageOf(stored, 30), async damaged => {
    keep(token, damaged)
    assert.deepStrictEqual(await findOffenders(), [])
    const { text } = await client.get(`${whole}.json`, { headers: { 'x-profiler': 'off' } })
    // JSON has no -0.
    const { data } = JSON.parse(JSON.stringify(damaged)) as Stored
    assert.deepStrictEqual(JSON.parse(text).data, data, 'data is what is stored')
  })
  await t.resolves(fc.assert(property, { numRuns: provenRuns(12) }))
})

t.test('with any damage, what a profile shows and says has no value that is none', async t => {
  const { kernel, stored } = await createExhibition(t)
  const toTexts = async ({ data, process }: Stored) => {
    const profile = createProfile(data as Profile['data'], { processData: process as Profile['processData'] })
    const findings = findFindings(profile)
    const shown = { ...createShown({}), profile, findings }
    const texts = new Map([
      ['toolbar', await kernel.app.view.render('profiler/toolbar', toToolbarView(shown))],
      ['Markdown', toMarkdown(shown)],
      ['findings', findings.map(finding => writeProblem(finding) + linkToFinding(finding, token)).join('\n')],
    ])
    for (const panel of kernel.panels()) {
      panel.badge(profile)
      texts.set(panel.name, panel.hasContent(profile) ? await kernel.show(panel, shown) : '')
    }
    return texts
  }
  const signs = ['NaN', 'undefined', '[object', 'This check failed']
  const whole = await toTexts(stored)
  const property = fc.asyncProperty(damageOf(stored, 100), async damaged => {
    for (const [name, text] of await toTexts(damaged)) {
      const found = signs.filter(sign => text.includes(sign) && !whole.get(name)?.includes(sign))
      assert.deepStrictEqual(found, [], `${name}: ${text}`)
    }
  })
  await t.resolves(fc.assert(property, { numRuns: provenRuns(200) }))
})
