import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import type { Test } from 'tap'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** Each application prints the name of its file, and its port. */
export const start = `
const report = server => process.stdout.write('PORT FILE ' + server.address().port + '\\n')
`

/** The same application as CommonJS. */
function toCommonJs(source: string): string {
  return source
    .replace(/^import (.+) from '(.+)'$/gm, "const $1 = require('$2')")
    .replace(/^import '(.+)'$/gm, "require('$1')")
}

interface Summary extends Readonly<Record<string, unknown>> {
  readonly token: string
  readonly url: string
}

type Span = readonly [mark: unknown, name: string, start: number, duration: number | null, parent?: number]

interface Stored {
  readonly data: {
    readonly events: { readonly spans: readonly Span[]; readonly places?: readonly [number, string][] }
    readonly exception?: { readonly exceptions: readonly { readonly status?: number }[] }
  }
}

/**
 * Starts applications in one program, and reads their profiles. `packages` are those that they name in package.json.
 */
async function profile(
  t: Test,
  applications: Readonly<Record<string, string>>,
  packages: Readonly<Record<string, string>>,
  modules: string,
) {
  const links = Object.entries(packages).filter(([name, real]) => name !== real || !modules.startsWith(root))
  const files = Object.keys(applications)
  const imports = files.map(file => (file.endsWith('.cjs') ? `require('./${file}')` : `import './${file}'`))
  const main = files[0]?.endsWith('.cjs') ? 'main.cjs' : 'main.mjs'
  const cwd = t.testdir({
    ...applications,
    [main]: [...imports, "process.stdin.on('end', () => process.exit()).resume()"].join('\n'),
    'package.json': JSON.stringify({ dependencies: packages }),
    node_modules: Object.fromEntries(
      links.map(([name, real]) => [name, t.fixture('symlink', path.join(modules, real))]),
    ),
  })
  const start = async (options: readonly string[]) => {
    const child = startProcess(t, [process.execPath, ...options, main], {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...environment, PROFILER_PORT: '0' },
    })
    let output = ''
    let errors = ''
    child.stdout?.setEncoding('utf8').on('data', text => {
      output += text
    })
    child.stderr?.setEncoding('utf8').on('data', text => {
      errors += text
    })
    const isStarted = () => output.split(/PORT \S+ \d+\n/).length > files.length
    await until(() => isStarted() && (options.length === 0 || errors.includes('\n')))
    const ports = new Map(Array.from(output.matchAll(/PORT (\S+) (\d+)\n/g), ([, file = '', port]) => [file, port]))
    const stop = async () => {
      child.stdin?.end()
      await once(child, 'exit')
    }
    return { errors, ports, stop }
  }
  const [{ errors, ports, stop: stopProfiled }, plain] = await Promise.all([start(['--import', preload]), start([])])
  const [, viewer = ''] = /^Profiler: (http:\S+)\/_profiler\/\n/.exec(errors) ?? []
  /** The bytes that a page has with the profiler and without it, but for the date, and the fields of the profiler. */
  const compare = (file: string, target: string) =>
    Promise.all([ports, plain.ports].map(each => receive(Number(each.get(file)), target)))
  const read = async (link: string) => fetch(`${viewer}/_profiler/${link}`)
  const find = async (file: string, target: string, masked = target) => {
    const origin = `http://127.0.0.1:${ports.get(file)}`
    const address = origin + masked
    const response = await fetch(origin + target, { headers: { referer: origin + target } })
    const text = await response.text()
    let found: Summary | undefined
    await until(async () => {
      const list = (await (await read('search.json')).json()) as { readonly records: { readonly summary: Summary }[] }
      found = list.records.map(({ summary }) => summary).find(({ url }) => url === address)
      return found !== undefined
    }, 20)
    const stored = await (await read(`${found?.token}.json`)).text()
    const { data } = JSON.parse(stored) as Stored
    const { places = [], spans } = data.events
    /** Each phase, and the functions that were called in it, with their places. */
    const calls = spans.map(([mark, name], index) => {
      const place = places.find(([at]) => at === index)?.[1]
      return mark === 'phase' ? `${name}:` : place === undefined ? name : `${name} ${place.replace(/:\d+$/, '')}`
    })
    const panel = async (name: string) => (await read(`${found?.token}?panel=${name}`)).text()
    return { ...found, stored, text, status: response.status, calls, exceptions: data.exception?.exceptions, panel }
  }
  const stop = () => Promise.all([stopProfiled(), plain.stop()])
  return { compare, find, stop }
}

async function receive(port: number, target: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.write(`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
  // Restify names each request, and says how long it took.
  const own = /^(?:date|x-debug-\S+|server-timing|request-id|response-time):.*\r\n/gim
  return (await socket.toArray()).join('').replace(own, '')
}

/** An application of a framework, and what its profiles have. */
export interface Framework {
  readonly source: string
  readonly packages: Readonly<Record<string, string>>
  /**
   * What the profile of `/api/users/7` has of the functions, by {@link firstCalls}; `FILE` stands
   * for the file of the application.
   */
  readonly calls: readonly string[]
  /** The function that works 2 ms after the others. */
  readonly last?: string
  readonly handler: string
  /** How it writes a parameter in a pattern. */
  readonly parameter?: (name: string) => string
}

/**
 * The first call of each function in its phase, in their order. What a function does after the
 * others is a row of its own from 0.1 ms on, also if the machine pauses the process meanwhile.
 */
export function firstCalls(calls: readonly string[]): string[] {
  const seen = new Set<string>()
  let [phase, shown] = ['', '']
  return calls.flatMap(call => {
    if (call.endsWith(':')) phase = call
    if (call === phase || seen.has(phase + call)) return []
    seen.add(phase + call)
    const rows = phase === shown ? [call] : [phase, call]
    shown = phase
    return rows
  })
}

/**
 * Checks the profiles of applications in one program, and that they answer as without the
 * profiler. `modules` is the folder of their packages.
 */
export async function checkFrameworks(
  t: Test,
  ending: '.mjs' | '.cjs',
  frameworks: Readonly<Record<string, Framework>>,
  modules = path.join(root, 'node_modules'),
): Promise<void> {
  const applications = Object.entries(frameworks)
  const fileOf = (name: string) => `${name.toLowerCase().replaceAll(' ', '-')}${ending}`
  const sources = applications.map(([name, { source }]) => {
    const text = source.replace('FILE', fileOf(name))
    return [fileOf(name), ending === '.cjs' ? toCommonJs(text) : text]
  })
  const packages = Object.assign({}, ...applications.map(([, { packages }]) => packages))
  const { compare, find, stop } = await profile(t, Object.fromEntries(sources), packages, modules)
  for (const [name, framework] of applications) {
    await t.test(`${name}: routes, functions, and errors that were answered`, t =>
      checkProfiles(t, name, fileOf(name), framework, find),
    )
    for (const page of ['users/7', 'fail', 'next', 'gone', 'missing/12']) {
      const [profiled, plain] = await compare(fileOf(name), `/api/${page}`)
      t.equal(profiled, plain, `${name} sends the same bytes for ${page}`)
    }
  }
  await stop()
}

async function checkProfiles(
  t: Test,
  name: string,
  file: string,
  { calls, last, handler, parameter = name => `:${name}` }: Framework,
  find: Awaited<ReturnType<typeof profile>>['find'],
) {
  const shown = await find(file, '/api/users/7')
  t.match(shown, {
    text: '{"id":"7"}',
    route: `GET /api/users/${parameter('id')}`,
    controller: handler,
    exception: null,
    status: 200,
  })
  // Nest has functions of its own before these.
  const expected = calls.map(call => call.replace('FILE', file))
  t.strictSame(firstCalls(shown.calls).slice(-expected.length), expected)
  if (last !== undefined) t.equal(shown.calls.at(-1), last.replace('FILE', file), 'its time after the handler')
  t.match(await shown.panel('console'), new RegExp(`a user[\\s\\S]*${file}`), 'the log has the line of its message')
  t.notMatch(await shown.panel('overview'), 'Not recorded')
  const failed = await find(file, '/api/fail')
  t.match(failed, { route: 'GET /api/fail', exception: 'RangeError', status: 500 })
  t.match(await failed.panel('exception'), new RegExp(`The page is broken\\.[\\s\\S]*${file}`))
  t.match(await find(file, '/api/next'), { route: 'GET /api/next', exception: 'TypeError', status: 500 })
  const gone = await find(file, '/api/gone')
  t.match(gone, { route: 'GET /api/gone', status: 404, exceptions: [{ status: 404 }] }, 'it is no crash')
  for (const each of ['/api/reset/S3cretKq', '/api/reset/S3cr%65tKq', '/api/reset/S3cretKq?a=1']) {
    const reset = await find(file, each, each.replace(/S3cr\w+|S3cr%65tKq/, '******'))
    t.match(reset, { route: `GET /api/reset/${parameter('token')}`, status: Number })
    t.match(reset.stored, /"text":"reset"/)
    t.notMatch(reset.stored, /S3cr/, 'the token is masked in its URL, the log and the Referer')
  }
  if (name.startsWith('Express')) t.match(await find(file, '/books'), { route: 'GET /books', status: 200 })
  if (name.startsWith('Express'))
    t.match(await find(file, '/sub/S3cretKq/page', '/sub/******/page'), { route: 'GET /sub/:secret/page' })
  const missing = { route: 'GET /missing/*', status: 404, ...(!/^(?:Nest|Polka)/.test(name) && { controller: 'rest' }) }
  t.match(await find(file, '/missing/12'), missing, 'a route for all paths is not the same page for each')
  if (name.startsWith('Nest')) {
    const { calls, ...refused } = await find(file, '/api/users/odd')
    t.match(refused, { status: 400, exceptions: [{ status: 400 }] })
    t.strictSame(calls.slice(-2), ['pipe:', `Pipe ${file}`], 'the handler is not called')
  }
  if (name.startsWith('Express')) t.match(await find(file, '/two'), { text: 'some', route: /^GET \/one,\/two$/ })
}
