import path from 'node:path'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'
import {
  createDependent,
  listProfiles,
  type ProfileData,
  readProfile,
  startProfiled,
} from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** A line of a log as a profile has it. */
interface Line {
  readonly level: string
  readonly channel: string
  readonly message: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly exceptions?: Readonly<Record<string, { readonly name: string; readonly frames: readonly unknown[] }>>
  readonly site?: { readonly line: number }
}

/** How an application uses a library for logs, and the lines that its profile has. */
interface Logs {
  /** Declares a function that returns the functions that log a line each. */
  readonly source: string
  /** The lines of a request, which begin with its channel. */
  readonly lines: (number: string) => readonly object[]
}

/** Each has secrets that are masked by name: they begin with `S3cr`. What the application hides is `HIDDEN`. */
const libraries: Readonly<Record<string, Logs>> = {
  pino: {
    source: `
import createPino from 'pino'
const shop = createPino({ base: { name: 'shop', password: 'S3cretBase' }, timestamp: false, redact: ['card.number'] })
const pino = number => {
  const child = shop.child({ number, token: 'S3cretBinding' })
  return {
    debug: () => child.debug('it is not printed'),
    info: () => child.info({ card: { number: 'HIDDEN' }, secret: 'S3cretField' }, 'read %s {number} password=S3cretText', number),
    warn: () => child.warn('careful ' + number),
    error: () => child.error(Object.assign(new RangeError('broken password=S3cretError'), { code: 'BROKEN', apiKey: 'S3cretOfError' })),
    other: () => child.fatal({ pid: 7, hostname: 'other' }, 'over'),
  }
}
`,
    lines: number => [
      {
        level: 'info',
        message: `read ${number} {number} password=******`,
        context: { number, token: '******', card: { number: '[Redacted]' }, secret: '******', password: '******' },
      },
      { level: 'warning', message: `careful ${number}`, site: { file: 'app.mjs' } },
      {
        level: 'error',
        message: 'broken password=******',
        exceptions: {
          err: { name: 'RangeError', message: 'broken password=******', code: 'BROKEN', frames: [{ file: 'app.mjs' }] },
        },
      },
      { level: 'critical', message: 'over', context: { pid: 7, hostname: 'other' } },
      { level: 'info', message: 'request completed' },
    ],
  },
  'pino, a hook': {
    source: `
const streamWrite = line => line.replaceAll('HIDDEN', '[hidden]')
const hooked = createPino({ base: { name: 'hooked' }, timestamp: false, messageKey: 'text', hooks: { streamWrite } })
const pinoHook = number => ({
  info: () => hooked.info({ number }, 'HIDDEN ' + number),
  warn: () => hooked.warn('HIDDEN again'),
})
`,
    lines: number => [
      { level: 'info', message: `[hidden] ${number}`, context: { number } },
      { level: 'warning', message: '[hidden] again' },
    ],
  },
  'pino, no JSON': {
    source: `
const odd = createPino({ base: null, timestamp: () => ',odd' })
const pinoNoJson = () => ({ error: () => odd.error('odd') })
`,
    lines: () => [{ level: 'error', message: '{"level":50,odd,"msg":"odd"}' }],
  },
  'winston, without JSON': {
    source: `
import createWinston from 'winston'
import { Writable } from 'node:stream'
const { colorize, combine, errors, json, label, printf } = createWinston.format
const hide = createWinston.format(info => ({ ...info, message: info.message.replace('HIDDEN', '[hidden]') }))
const print = printf(({ level, message, number }) => level + ': ' + message + ' ' + number)
const nothing = new Writable({ write: (chunk, encoding, done) => done() })
const transports = createWinston.transports
const plain = createWinston.createLogger({
  transports: [
    new transports.Console({ format: combine(label({ label: 'plain' }), hide(), colorize({ all: true }), print), stderrLevels: ['warn'] }),
    new transports.Stream({ stream: nothing }),
  ],
})
const winstonWithoutJson = number => ({
  info: () => plain.info('HIDDEN ' + number, { number, card: 'HIDDEN' }),
  debug: () => plain.debug('it is not printed'),
  warn: () => plain.warn('careful'),
})
`,
    lines: number => [
      { level: 'info', message: `[hidden] ${number}`, context: { number } },
      { level: 'warning', message: 'careful', site: { file: 'app.mjs' } },
    ],
  },
  'winston, JSON': {
    source: `
const shopLog = createWinston.createLogger({
  format: combine(errors({ stack: true }), json()),
  defaultMeta: { label: 'shop', password: 'S3cretMeta' },
  transports: [new transports.Console({ forceConsole: true })],
})
const winstonJson = number => ({
  info: () => shopLog.http('read', { number, secret: 'S3cretField' }),
  none: () => shopLog.http('level http is not printed'),
  warn: () => shopLog.warn('careful token=S3cretText', { number, secret: 'S3cretField' }),
  error: () => shopLog.child({ number }).error(new RangeError('broken')),
  odd: () => shopLog.error({ level: 'error', message: { odd: true } }),
})
`,
    lines: number => [
      { level: 'warning', message: 'careful token=******', context: { password: '******', number, secret: '******' } },
      {
        level: 'error',
        message: 'broken',
        context: { number },
        exceptions: { exception: { name: 'RangeError', message: 'broken', frames: [{ file: 'app.mjs' }] } },
      },
      { level: 'error', message: '{"odd":true}' },
    ],
  },
  nest: {
    source: `
import nestCommon from '@nestjs/common'
class Hidden extends nestCommon.ConsoleLogger { formatMessage() { return 'hidden\\n' } }
const hiddenLog = new Hidden()
const nestLog = new nestCommon.ConsoleLogger('shop', { timestamp: false })
nestLog.getTimestamp = () => ''
nestLog.formatPid = () => ''
const nest = number => ({
  info: () => nestLog.log('read ' + number + ' password=S3cretText'),
  hidden: () => hiddenLog.log('HIDDEN'),
  warn: () => nestLog.warn({ number, secret: 'S3cretField' }),
  error: () => nestLog.error(new RangeError('broken')),
  stack: () => nestLog.error('it is broken', new TypeError('inner').stack),
  fatal: () => nestLog.fatal('over'),
})
`,
    lines: number => [
      { level: 'info', message: `read ${number} password=******` },
      {
        level: 'warning',
        message: 'Object',
        context: { values: [{ number, secret: '******' }] },
        site: { file: 'app.mjs' },
      },
      {
        level: 'error',
        message: 'broken',
        exceptions: { exception: { name: 'RangeError', message: 'broken', frames: [{ file: 'app.mjs' }] } },
      },
      {
        level: 'error',
        message: 'it is broken',
        exceptions: { exception: { name: 'TypeError', message: 'inner', frames: [{ file: 'app.mjs' }] } },
      },
      { level: 'critical', message: 'over' },
    ],
  },
  consola: {
    source: `
import { createConsola } from 'consola'
const formatOptions = { date: false, colors: false }
const tagged = createConsola({ level: 3, fancy: false, formatOptions, throttleMin: 1e9 }).withTag('shop')
const hiding = createConsola({ level: 3, reporters: [{ log: ({ args }) => console._stdout.write('hidden\\n') }] })
const consola = number => ({
  info: () => tagged.info('read', number, 'password=S3cretText'),
  hidden: () => hiding.info('HIDDEN'),
  debug: () => tagged.debug('it is not printed'),
  warn: () => tagged.warn('careful', { number, secret: 'S3cretField' }),
  error: () => tagged.error(new RangeError('broken')),
})
`,
    lines: number => [
      { level: 'info', message: `read ${number} password=******` },
      { level: 'warning', message: 'careful', context: { values: [{ number, secret: '******' }] } },
      {
        level: 'error',
        message: 'broken',
        exceptions: { exception: { name: 'RangeError', message: 'broken', frames: [{ file: 'app.mjs' }] } },
      },
    ],
  },
}

/** The channel of the lines of each. */
const channels: Readonly<Record<string, string>> = {
  pino: 'pino:shop',
  'pino, a hook': 'pino:hooked',
  'pino, no JSON': 'pino',
  'winston, without JSON': 'winston',
  'winston, JSON': 'winston:shop',
  nest: 'nest:shop',
  consola: 'consola:shop',
}

const source = Object.values(libraries)
  .map(each => each.source)
  .join('')

/** Answers each request with a line of each library in turn, between which it waits. */
const serve = `
import http from 'node:http'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
const begins = [pino, pinoHook, pinoNoJson, winstonWithoutJson, winstonJson, nest, consola]
const server = http.createServer(async (request, response) => {
  const number = request.url.replace('/', '')
  response.on('finish', () => shop.info({ responseTime: 1 }, 'request completed'))
  const logs = begins.map(begin => Object.values(begin(number)))
  for (let step = 0; logs.some(each => step < each.length); step++) {
    for (const each of logs) each[step]?.()
    await delay(number % 5)
  }
  response.end()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
`

t.test('lines of libraries for logs are those of their requests', async t => {
  const app = `${source}${serve}
process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
process.stdin.on('end', () => process.exit()).resume()`
  const { stop, url, viewer } = await startProfiled(t, app, {}, createDependent(t, 'consola', '@nestjs/common'))
  const numbers = Array.from({ length: 120 }, (_, index) => `${index}`)
  await Promise.all(numbers.map(async number => (await fetch(`${url}/${number}`)).text()))
  let stored: readonly ProfileData['summary'][] = []
  await until(async () => {
    stored = await listProfiles(viewer, 300)
    return stored.length === numbers.length
  }, 50)
  const profiles = await Promise.all(stored.map(({ token }) => readProfile(viewer, token)))
  const numberOf = ({ summary }: ProfileData) => summary.url.split('/').at(-1) ?? ''
  const linesOf = ({ data }: ProfileData, channel?: string) =>
    ((data.logger?.records ?? []) as readonly Line[]).filter(line =>
      channel === undefined ? line.channel !== 'profiler' : line.channel === channel,
    )
  for (const [name, { lines }] of Object.entries(libraries)) {
    const [first, ...others] = profiles
    const read = (profile: ProfileData) => linesOf(profile, channels[name])
    if (first === undefined) continue
    t.hasStrict(read(first), lines(numberOf(first)), name)
    const mixed = others.filter(profile => !matchesStrict(read(profile), lines(numberOf(profile))))
    t.strictSame(mixed.map(read), [], `${name}: each request has its own`)
  }
  const count = Object.values(libraries).flatMap(({ lines }) => lines('')).length
  t.strictSame(
    profiles.map(profile => linesOf(profile)).filter(({ length }) => length !== count),
    [],
    'a line is there once',
  )
  const counts = profiles.map(({ summary: { dumps, errors } }) => `${errors} ${dumps}`)
  t.strictSame([...new Set(counts)], ['9 0'], 'they are counted, and are no calls of the console')
  t.strictSame(
    profiles.filter(({ data }) => data.late !== undefined).length,
    0,
    'a line of the response is no late work',
  )
  const texts = profiles.map(profile => JSON.stringify(profile))
  t.strictSame([...new Set(texts.flatMap(text => text.match(/S3cr\w*|HIDDEN|not printed/g) ?? []))], [])
  await stop()
})

/** Whether each line has what is expected of it. */
function matchesStrict(lines: readonly Line[], expected: readonly object[]): boolean {
  const has = (value: unknown, part: unknown): boolean =>
    typeof part === 'object' && part !== null
      ? Object.entries(part).every(([name, each]) => has(Object(value)[name], each))
      : value === part
  return lines.length === expected.length && has(lines, expected)
}

t.test('the output of libraries for logs, and the exit code, are as without the profiler', async t => {
  const cwd = t.testdir({
    node_modules: {},
    // The frames of Node's timers differ from run to run.
    'app.mjs': `${source}Error.stackTraceLimit = 1
${serve}
const address = 'http://127.0.0.1:' + server.address().port
for (const number of [1, 2]) await (await fetch(address + '/' + number)).text()
server.close()
process.exitCode = 3`,
  })
  // pino writes to the descriptor, and the others to the stream of Node: the order of their lines is not fixed.
  const run = async (options: readonly string[]) => {
    const env = { ...environment, PROFILER_PORT: '0' }
    const ran = await runProcess(t, [process.execPath, ...options, 'app.mjs'], { cwd, env })
    return { ...ran, stdout: ran.stdout.split('\n').toSorted() }
  }
  const [plain, profiled] = await Promise.all([run([]), run(['--import', preload])])
  t.strictSame({ ...profiled, stderr: profiled.stderr.replace(/^Profiler: .*\n/, '') }, plain)
  t.equal(plain.code, 3)
})
