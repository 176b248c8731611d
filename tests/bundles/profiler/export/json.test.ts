import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { t } from 'tap'
import type { ComparedTimes } from '#bundles/profiler/insight/durations.ts'
import type { PartKind } from '#bundles/profiler/insight/overview/time-parts.ts'
import type { Tone } from '#bundles/profiler/insight/summary-view.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Outcome } from '#bundles/profiler/profile/profile.ts'
import type { UnitType } from '#bundles/profiler/profile/units.ts'
import type { ProfileCollector } from '#bundles/profiler/record/collect.ts'
import { ContentCopier } from '#bundles/profiler/record/copy.ts'
import { createCollectors } from '#bundles/profiler/subjects/recorded.ts'
import { kernelSubjects } from '#bundles/profiler/subjects/recorded-by-kernels.ts'
import type { Severity } from '#kernel/contracts/collectors.ts'
import { beginUnit } from '#kernel/contracts/units.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, type StoredProfile } from '#tests/support/create-profile.ts'
import type { Json } from '#tests/support/json-tree.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'

const file = 'docs/reference/profile.schema.json'

interface Schema {
  readonly $defs: Readonly<Record<string, Part>>
}

const schema: Schema = JSON.parse(readFileSync(file, 'utf8'))

/** The same schema without additional properties, so that it must contain each field. */
function close(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(close)
  if (typeof schema !== 'object' || schema === null) return schema
  const closed = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, close(value)]))
  return 'required' in closed && !('additionalProperties' in closed)
    ? { ...closed, additionalProperties: false }
    : closed
}

const validate = new Ajv2020({ allErrors: true, strict: false }).compile(close(schema as unknown as Json) as object)

/** The parts that are present, as JSON. Their getters are those of a prototype. */
function present(parts: Readonly<Record<string, unknown>>): Json {
  const all: Record<string, unknown> = {}
  for (const name in parts) all[name] = parts[name]
  return JSON.parse(JSON.stringify(all))
}

const mistakesOf = (value: unknown) =>
  validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message, params }) => ({ instancePath, message, params }))

t.test('profiles of all kinds, and lists, match the schema without additional fields', async t => {
  const kernel = await createProfiledKernel(t, {
    bundles: [richBundle],
    armFile: `${t.testdir()}/armed.json`,
    handlers: {
      '/late': () => {
        setTimeout(() => kernel.app.logger.info('Logged too late.'), 5)
        return new Response('soon')
      },
      '/outer': request => kernel.app.kernel.forward(request, () => fetch(`${url}/count`).then(() => new Response(''))),
      '/blocking': () => new Response(execFileSync('sleep', ['0.06'])),
    },
  })
  const { url } = await serveKernel(t, kernel)
  const job = { queue: 'mail', id: '1', attempt: 1 }
  beginUnit({ type: 'job', name: 'mail ship', input: { to: 'Ada' }, job })?.end({ result: 'sent' })
  const message = { connection: '1', event: 'ask', bytes: 7 }
  beginUnit({ type: 'message', name: '/chat ask', input: { to: 'Ada' }, message })?.end({ error: new Error('no') })
  const form = new URLSearchParams({ path: '/rich', method: 'POST' })
  await fetch(`${url}/_profiler/cpu/arm`, { method: 'POST', body: form, headers: { origin: url } })
  await askRichly(url)
  const { headers } = await fetch(`${url}/late`)
  await waitForProfile(kernel.storage, headers.get('x-debug-token'), ({ data }) => data.late !== undefined)
  const elsewhere = await fetch(`${url}/redir`)
  await elsewhere.text()
  for (const path of [
    '/slash',
    '/stateless',
    '/count',
    '/stream',
    '/embed',
    '/forward',
    '/boom-text',
    '/events',
    '/blocking',
    '/outer',
  ]) {
    await (await fetch(url + path)).text()
  }
  const page = await fetch(`${url}/embed`)
  await (await fetch(`${url}/assets/gone.css`, { headers: { referer: `${url}/embed` } })).text()
  await waitForProfile(kernel.storage, page.headers.get('x-debug-token'), ({ data }) => data.missing !== undefined)
  await (await fetch(`${url}/post-only`)).text()
  await (await fetch(`${url}/star-photo-booth`, { method: 'HEAD' })).text()
  await turns()

  const read = async (path: string) => JSON.parse(await (await fetch(url + path)).text())
  const list = await read('/_profiler/search.json?limit=100')
  t.strictSame(mistakesOf(list), [])
  t.ok(list.records.length > 20)
  t.strictSame(mistakesOf(await read('/_profiler/routes.json')), [])
  t.strictSame(mistakesOf(await read('/_profiler/mails.json')), [])
  const seen = new Set<string>()
  for (const { link } of list.records) {
    const json = await read(link)
    t.strictSame(mistakesOf(json), [], link)
    const { collectors, process } = toProfile(json, json.process)
    for (const { name } of kernel.app.collectors) delete json.data[name]
    // The parsed profile equals the stored one, so the schemas in the code contain each field.
    t.strictSame(present(collectors), json.data, link)
    t.strictSame(present(process), json.process, link)
    for (const name of Object.keys(json.data)) seen.add(name)
    for (const { name } of kernel.app.collectors) t.notOk(`data.${name}` in schema.$defs)
  }
  const known = Object.keys(schema.$defs).filter(name => name.startsWith('data.'))
  t.strictSame(
    known.filter(name => !seen.has(name.slice(5))),
    [],
    'all that it names was recorded: tests/support/rich-bundle.ts has a request for each',
  )
  const shown = kernel.panels().flatMap(({ name, stored = [name] }) => stored.map(part => `data.${part}`))
  t.strictSame(
    known.filter(name => !shown.includes(name)),
    ['data.missing'],
    'each part has a panel, a line in subjects/views.ts, except for what only findings read',
  )
  t.ok(mistakesOf({ ...list, strange: 1 }).length > 0, 'the schema rejects wrong data')
})

/** A part of the schema. */
interface Part {
  readonly $ref?: string
  readonly const?: Json
  readonly enum?: readonly Json[]
  readonly anyOf?: readonly Part[]
  readonly oneOf?: readonly Part[]
  readonly type?: string | readonly string[]
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Part>>
  readonly additionalProperties?: Part | boolean
  readonly required?: readonly string[]
  readonly items?: Part
  readonly minItems?: number
  readonly prefixItems?: readonly Part[]
}

const texts = ['text', 'abc123', '0123456789abcdef0123456789abcdef', '0123456789abcdef', '/_profiler/abc123']

/**
 * A value with all fields of a part of the schema. Of its alternatives it is the `choice`. It is
 * `undefined` if the part is one of the parts `around` it.
 */
function fill(part: Part, choice: number, around: readonly string[] = []): Json | undefined {
  const { $ref, anyOf = [], oneOf = anyOf, enum: [first = part.const] = [], properties = {}, required = [] } = part
  const [type = 'string'] = [part.type ?? []].flat()
  if ($ref !== undefined) {
    return around.includes($ref)
      ? undefined
      : fill(schema.$defs[$ref.replace('#/$defs/', '')] ?? {}, choice, [...around, $ref])
  }
  const alternative = oneOf[choice % oneOf.length]
  if (alternative !== undefined) return fill(alternative, choice, around)
  if (first !== undefined) return first
  if (type === 'array') {
    const { items = {}, minItems = 1, prefixItems = Array.from({ length: minItems }, () => items) } = part
    return prefixItems.map(item => fill(item, choice, around)).filter(item => item !== undefined)
  }
  if (type === 'object') {
    const { additionalProperties: others } = part
    const fields = Object.entries(typeof others === 'object' ? { name: others } : properties)
    const filled = fields.flatMap(([name, field]) => {
      const value = fill(field, choice, around)
      return value === undefined ? [] : [[name, value] as const]
    })
    const object = Object.fromEntries(filled)
    return required.every(name => name in object) ? object : undefined
  }
  if (type === 'string') return texts.find(text => new RegExp(part.pattern ?? '').test(text))
  return type === 'boolean' ? true : 1
}

t.test('a stored profile is read with every field that the schema names', t => {
  for (const choice of [0, 1, 2]) {
    const filled = (prefix: string) =>
      Object.fromEntries(
        Object.entries(schema.$defs)
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, part]) => [name.slice(prefix.length), fill(part, choice)]),
      )
    const [data, processData] = [filled('data.'), filled('process.')]
    const { collectors, process } = toProfile(createProfile(data), processData)
    t.strictSame(present(collectors), data)
    t.strictSame(present(process), processData)
  }
  t.end()
})

t.test('the schema names every collector', async t => {
  const { app } = await createProfiledKernel(t)
  const collectors: ProfileCollector[] = [
    ...createCollectors(kernelSubjects, app, { contents: new ContentCopier(app.redactor) }),
  ]
  const facts = collectors.filter(({ describeProcess }) => describeProcess !== undefined).map(({ name }) => name)
  // These have no collector: they are known later.
  const names = ['browser', 'missing', ...collectors.map(({ name }) => name)].filter(
    name => name !== 'server' && name !== 'config',
  )
  const named = (prefix: string) =>
    Object.keys(schema.$defs)
      .filter(name => name.startsWith(prefix))
      .map(name => name.slice(prefix.length))
  t.strictSame(named('data.').sort(), names.sort())
  t.strictSame(named('process.').sort(), facts.sort())
})

/** A table that TypeScript refuses if a value of a type is missing. */
type All<Value extends string> = Readonly<Record<Value, true>>

const change: All<ComparedTimes['change']> = { faster: true, slower: true, usual: true, unknown: true }
const tone: All<Tone> = { plain: true, ok: true, warning: true, error: true }
const severity: All<Severity> = { info: true, warning: true, error: true }
const type: All<UnitType> = { request: true, command: true, job: true, message: true, task: true }
const outcome: All<Outcome> = {
  ...{ complete: true, failed: true, aborted: true, 'stream-failed': true, crashed: true, unfinished: true },
}
const kind: All<PartKind> = {
  ...{ unknown: true, kernel: true, sending: true, own: true, controller: true, listener: true, client: true },
  ...{ template: true, stopwatch: true, request: true, async: true, mail: true, http: true, cache: true },
  ...{ database: true, gc: true, blocked: true, stopped: true, waiting: true },
}

/** The parts that are made from the schemas of the code. */
const generatedParts = new Set(['data', 'process', 'tree', 'content', 'message', 'exception', 'summary'])

t.test('the lists of values that the schema has by hand are those of the code', t => {
  const types: Readonly<Record<string, All<string>>> = {
    'overview.parts.kind': kind,
    'overview.sinceEdit.times.change': change,
    'overview.sinceEdit.changes.tone': tone,
    'finding.severity': severity,
    'worst.type': type,
    'worst.outcome': outcome,
  }
  const list = ({ enum: values, items, properties = {} }: Part, name: string): [name: string, values: Json][] => [
    ...(values === undefined ? [] : [[name, values.toSorted()] as [string, Json]]),
    ...(items === undefined ? [] : list(items, name)),
    ...Object.entries(properties).flatMap(([field, part]) => list(part, `${name}.${field}`)),
  ]
  const isByHand = ([name]: [string, Json]) => !generatedParts.has(name.replace(/^(data|process)\..*|\..*/, '$1'))
  const listed = Object.entries(schema.$defs).flatMap(([name, part]) => list(part, name))
  const expected = Object.entries(types).map(([name, values]) => [name, Object.keys(values).sort()])
  t.strictSame(Object.fromEntries(listed.filter(isByHand)), Object.fromEntries(expected))
  t.end()
})

t.test('deleted relatives keep their tokens; a panel has only its own data', async t => {
  const kernel = await createProfiledKernel(t)
  const stored = await kernel.storedOf(await kernel.client.get('/embed'))
  const [child] = stored.profile.children
  const { token } = stored.profile.summary
  /** The JSON of a profile that is the only one of its storage. */
  const readAlone = async (each: StoredProfile | undefined, query = '') => {
    const { client, storage } = await createProfiledKernel(t)
    const { collectors: _, process: __, processData, ...document } = (each ?? stored).profile
    storage.append({ summary: document.summary, text: JSON.stringify(document) }, JSON.stringify(processData))
    return JSON.parse((await client.get(`/_profiler/${document.summary.token}.json${query}`)).text)
  }
  const gone = await readAlone(stored)
  t.strictSame(gone.children, [{ token: child, link: `/_profiler/${child}.json`, summary: null }])
  t.strictSame(mistakesOf(gone), [])
  const orphan = await readAlone(await kernel.storage.find(String(child)))
  t.hasStrict(orphan.parent, { token, summary: null })
  const showPanel = async (name: string) =>
    JSON.parse((await kernel.client.get(`/_profiler/${token}.json?panel=${name}`)).text)
  const contents: readonly (readonly [panel: string, data: readonly string[], process: readonly string[]])[] = [
    ['request', ['request', 'response'], ['server']],
    ['time', ['events'], ['events']],
    ['config', [], ['config', 'server']],
    ['overview', [], []],
    ['events', ['events'], ['events']],
  ]
  for (const [name, data, process] of contents) {
    const panel = await showPanel(name)
    t.strictSame([Object.keys(panel.data).sort(), Object.keys(panel.process).sort()], [data, process], name)
  }
  const panel = await showPanel('request')
  t.equal(panel.links.self, `/_profiler/${token}.json?panel=request`)
})
