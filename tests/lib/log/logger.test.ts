import { spawnSync } from 'node:child_process'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { HttpError, type Logger } from 'sinfonietta'
import t from 'tap'
import { AccessEntry, AccessKind } from '#lib/log/access-entry.ts'
import { createLogger, type LoggerOptions } from '#lib/log/create-logger.ts'
import type { LogContext } from '#lib/log/logger.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { escapeControls } from '#lib/text/escapes.ts'
import type { LogRecord } from '#tests/support/recording-logger.ts'
import { anyCharacter } from '#tests/support/sample.ts'
import { until } from '#tests/support/until.ts'

const logLevels = ['debug', 'info', 'warning', 'error', 'critical'] as const

/** Local time, as in readable lines. */
const now = new Date(2026, 10, 21, 12, 34, 56, 789)

t.test('JSON lines', async t => {
  t.test('a line is one object with time, level, channel, message, template and context', async t => {
    const { logger, lines } = createTestLogger({ format: 'json' })
    logger.channel('request').info('Matched route "{route}".', { route: 'home', parameters: { a: 1 } })
    logger.debug('Nothing to fill.')
    t.strictSame(lines().map(parse), [
      {
        level: 'info',
        time: now.toISOString(),
        channel: 'request',
        template: 'Matched route "{route}".',
        context: { route: 'home', parameters: { a: 1 } },
        message: 'Matched route "home".',
      },
      { level: 'debug', time: now.toISOString(), channel: 'app', message: 'Nothing to fill.' },
    ])
  })

  t.test('only records of the level or above are written', async t => {
    for (const [index, level] of logLevels.entries()) {
      const { logger, lines } = createTestLogger({ format: 'json', level })
      for (const level of logLevels) logger[level]('x')
      t.same(
        lines().map(line => parse(line).level),
        logLevels.slice(index),
      )
    }
  })

  t.test('an error is written with name, code, stack and causes', async t => {
    const { logger, lines } = createTestLogger({ format: 'json' })
    const cause = Object.assign(new TypeError('inner'), { code: 'E_INNER' })
    logger.error('Failed: {exception}', {
      exception: new Error('outer', { cause }),
      other: new AggregateError([cause, Object.assign(new Error('numbered'), { code: 7 })]),
    })
    const { message, context } = parse(lines()[0])
    t.equal(message, 'Failed: outer')
    t.match(context.exception, { name: 'Error', message: 'outer', stack: /^at .*logger\.test.*\n *at / })
    t.hasStrict(context.exception.cause, { name: 'TypeError', message: 'inner', code: 'E_INNER' })
    t.hasStrict(context.other.errors, [{ message: 'inner' }, { message: 'numbered', code: 7 }])
    t.equal(context.exception.frames, undefined)
  })

  t.test('an error is written with its properties, masked and within bounds', async t => {
    const { logger, lines } = createTestLogger({ format: 'json' })
    const deep: Record<string, unknown> = { detail: 'Key (email)=(x@y.z) already exists.', list: Array(500).fill(1) }
    deep.self = deep
    const parent = new Error('parent')
    const cause = Object.assign(new Error('inner'), { column: 'name', big: 1n, parent })
    logger.error('Failed.', { exception: Object.assign(new Error('outer', { cause }), { password: 'x', ...deep }) })
    const { exception } = parse(lines()[0]).context
    t.equal(exception.properties.password, '******')
    t.equal(exception.properties.detail, 'Key (email)=(******) already exists.')
    t.ok(exception.properties.list.length < 250)
    t.strictSame(exception.cause.properties, { '…': '…' })
    logger.error('Failed.', { exception: cause })
    t.strictSame(parse(lines()[1]).context.exception.properties, { column: 'name', big: '1', parent: 'Error: parent' })
  })

  t.test('no text forges a line or controls a terminal, and none is lost', async t => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), hostile(), (text, controls) => {
        const { logger, written } = createTestLogger({ format: 'json' })
        logger.channel(controls).error(controls, { a: `${text}${controls}` })
        t.match(written(), /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029]*\n$/u)
        t.equal(parse(written()).channel, controls)
      }),
    )
  })
})

t.test('readable lines', async t => {
  t.test('a line has local time, level, channel, message and the rest of the context', async t => {
    const { logger, lines } = createTestLogger({ format: 'readable' })
    logger.channel('request').error('Uncaught at {path}', { path: '/x', status: 500, list: [1, 'a'] })
    logger.info('Ready.', { nothing: undefined })
    t.strictSame(lines(), [
      '12:34:56.789 ERROR    request  Uncaught at /x {"status":500,"list":[1,"a"]}',
      '12:34:56.789 INFO     app  Ready.',
    ])
  })

  t.test('errors follow with their stacks and causes on indented lines', async t => {
    const { logger, lines } = createTestLogger({ format: 'readable' })
    const cause: Error & { code?: string; cause?: unknown } = new TypeError('inner\nline')
    const exception = new Error('outer', { cause })
    Object.assign(cause, { code: 'E_INNER', cause: exception, stack: 'none' })
    logger.error('Failed.', { exception, all: new AggregateError([Object.assign(new Error('one'), { stack: '' })]) })
    const text = lines().filter(line => !line.startsWith('    at '))
    t.ok(lines().length > text.length + 2)
    t.strictSame(text, [
      '12:34:56.789 ERROR    app  Failed.',
      '  Error: outer',
      '  caused by TypeError [E_INNER]: inner\\nline',
      '    It leads back to an error above, which is not repeated.',
      '  AggregateError: ',
      '  gathers Error: one',
    ])
  })

  t.test('the properties of an error are lines between its message and its stack', async t => {
    const { logger, lines } = createTestLogger({ format: 'readable' })
    const exception = Object.assign(new Error('x'), {
      detail: 'a\nb',
      issues: [{ path: ['a'] }],
      long: 'x'.repeat(600),
    })
    logger.error('Failed.', { exception })
    t.strictSame(lines().slice(1, 4), ['  Error: x', '    detail: a\\nb', '    issues: [{"path":["a"]}]'])
    t.equal(lines()[4], `    long: ${'x'.repeat(499)}…`)
    t.match(lines()[5], /^ {4}at /)
  })

  t.test('a code that is the name of the error is not repeated', async t => {
    const { logger, lines } = createTestLogger({ format: 'readable' })
    logger.error('Failed.', { exception: Object.assign(new Error('x'), { name: 'A_B', code: 'A_B', stack: '' }) })
    t.equal(lines()[1], '  A_B: x')
  })

  t.test('no text forges a line or controls a terminal', async t => {
    fc.assert(
      fc.property(hostile(), controls => {
        const { logger, written } = createTestLogger({ format: 'readable' })
        const exception = Object.assign(new Error(controls), { name: controls, code: controls })
        logger.channel(controls).error(`${controls}{a}`, { a: controls, [controls]: controls, exception })
        t.match(written(), /^\d\d:.*\n( {2}.*\n)+$/)
        t.notMatch(written().replaceAll('\n', ''), /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u)
      }),
    )
  })

  t.test('only a terminal gets colours', async t => {
    const [plain, coloured] = [false, true].map(isTTY => {
      const { logger, written } = createTestLogger({ format: 'readable' }, { isTTY })
      logger.error('x', { a: 1 })
      return written()
    })
    t.not(plain, coloured)
    t.equal(stripVTControlCharacters(String(coloured)), plain)
  })
})

t.test('messages', async t => {
  t.test('placeholders are filled from the context; one without a value stays', async t => {
    const context = {
      text: 'a{n}',
      n: 1,
      no: null,
      yes: true,
      list: [1],
      gone: undefined,
      'a.b-c': 'dots',
      password: 'x',
    }
    const template = '{text} {n} {no} {yes} {list} {gone} {a.b-c} {password} {lacking} {toString} { n }'
    const expected = 'a{n} 1 null true [1] undefined dots ****** {lacking} {toString} { n }'
    t.equal(record(logger => logger.info(template, context)).message, expected)
  })

  t.test('a message is cut to 4,096 characters', async t => {
    const { message } = record(logger => logger.info('{a}{a}{a}', { a: '😀'.repeat(1020) }))
    t.equal(message.length, 4096)
    t.ok(message.isWellFormed() && message.endsWith('…'))
  })

  t.test('secrets are masked in messages, contexts, keys and stacks', async t => {
    const secret = 'hunter2-hunter2'
    const redactor = new Redactor({ APP_SECRET: secret })
    const written = createTestLogger({ format: 'json', redactor })
    written.logger.error(`It was ${secret}, {url} {exception}`, {
      url: new URL('http://u:p4ss@host/?token=t0ken'),
      password: { deep: 'p4ss' },
      [secret]: secret,
      list: [`Bearer t0ken`, { apiKey: 1234 }],
      exception: new Error(secret, { cause: Object.assign(new Error(), { message: secret }) }),
      // The text is cut in the middle of the secret, so the secret has to be masked before.
      long: `${'x'.repeat(2040)}${secret}`,
    })
    t.match(written.written(), /It was \*{6}, http:\/\/\*{6}@host\/\?token=\*{6} \*{6}/)
    t.notMatch(written.written(), /hunter2|p4ss|t0ken|1234/)
  })
})

t.test('only the name of a logged error is no name of a secret', async t => {
  class TokenExpired extends Error {}
  const exception = new TokenExpired('it was from 1999')
  const cases: readonly (readonly [template: string, context: object, message: string])[] = [
    [
      'Field {field}: {input} is refused',
      { field: 'password', input: 'hunter2x' },
      'Field password: ****** is refused',
    ],
    ['{header}: {sent}', { header: 'x-api-key', sent: 'hunter2x' }, 'x-api-key: ******'],
    ['{name}: {message}', { name: 'TokenExpired', message: 'hunter 2x' }, 'TokenExpired: hunter 2x'],
    ['{a}: {b}: {c}', { a: 'TokenExpired', b: 'password', c: 'hunter2x' }, 'TokenExpired: password: ******'],
  ]
  const wrong = cases.flatMap(([template, context, expected]) => {
    const { message } = record(logger => logger.error(template, { ...context, exception }))
    return message === expected ? [] : [`${template} → ${message}`]
  })
  t.strictSame(wrong, [])
})

t.test('contexts', async t => {
  const contextOf = (context: object | null) => record(logger => logger.info('x', context as LogContext)).context

  t.test('values become plain data', async t => {
    const values: [value: unknown, copy: unknown][] = [
      [1n, '1'],
      [Number.NaN, 'NaN'],
      [Symbol('s'), 'Symbol(s)'],
      [() => 1, '[function]'],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      [new Date(Number.NaN), 'Invalid Date'],
      [new Set(['a']), ['a']],
      [
        new Map<unknown, unknown>([
          ['a', { b: 1 }],
          [2, 'c'],
        ]),
        { a: { b: 1 }, 2: 'c' },
      ],
      [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
      [new Uint8Array(3), '[Uint8Array]'],
      [Object.create({}), '[Object]'],
      [new Proxy({}, {}), '[Proxy]'],
      [undefined, undefined],
      [null, null],
      ['', ''],
      [false, false],
      ['x'.repeat(3000), `${'x'.repeat(2047)}…`],
    ]
    for (const [value, copy] of values) t.strictSame(contextOf({ value }), { value: copy })
    t.hasStrict(contextOf({ value: runInNewContext('new Error("far")') }), { value: { name: 'Error', message: 'far' } })
  })

  t.test('getters and hidden properties are not read', async t => {
    const value = Object.defineProperty(
      {
        get a() {
          throw new Error('called')
        },
        b: 1,
      },
      'hidden',
      { value: 1 },
    )
    t.strictSame(contextOf({ value }), { value: { a: '[getter]', b: 1 } })
  })

  t.test('depth and entries are bounded, and … stands for the rest', async t => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    t.match(JSON.stringify(contextOf(circle)), /"…"/)
    t.equal((contextOf({ list: Array(1000).fill(1) }).list as unknown[]).length, 500)
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`n${index}`, index]))
    t.equal(Object.keys(contextOf(many)).length, 501)
    t.equal(contextOf(many)['…'], '…')
  })

  t.test('an error or nothing instead of a context is logged', async t => {
    t.match(contextOf(new TypeError('no')), { exception: { message: 'no' } })
    t.same(contextOf(null), { context: null })
  })

  t.test('a message is logged even if its context cannot be read', async t => {
    const refuse = () => {
      throw new Error('refused')
    }
    const refusals = { ownKeys: refuse, getPrototypeOf: refuse }
    t.same(contextOf(new Proxy({}, refusals)), { '…': 'The context could not be read.' })
  })
})

t.test('an observer gets the records of all channels as plain data until it is removed', async t => {
  const records: LogRecord[] = []
  const { logger, lines } = createTestLogger({ format: 'json', level: 'error' })
  const remove = logger.observe(record => records.push(record))
  logger.debug('Below {a}.', { a: 1 })
  logger.channel('other').critical('Above.')
  remove()
  logger.debug('Unheard.')
  t.strictSame(records, [
    {
      time: now.toISOString(),
      level: 'debug',
      channel: 'app',
      message: 'Below 1.',
      template: 'Below {a}.',
      context: { a: 1 },
    },
    { time: now.toISOString(), level: 'critical', channel: 'other', message: 'Above.', context: {} },
  ])
  t.equal(lines().length, 1)
})

t.test('each line has the span in which it was logged, until the source of spans is removed', async t => {
  const span = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
  for (const format of ['json', 'readable'] as const) {
    const { logger, lines } = createTestLogger({ format })
    let isInSpan = true
    const end = logger.channel('other').correlate(() => (isInSpan ? { span } : undefined))
    logger.info('In a span.', { a: 1 })
    isInSpan = false
    logger.info('Outside.')
    isInSpan = true
    end()
    logger.info('After.')
    const [inSpan = '', outside = '', after = ''] = lines()
    if (format === 'json') {
      t.match(parse(inSpan), { trace_id: span.traceId, span_id: span.spanId, context: { a: 1 } })
      t.strictSame(
        [parse(outside), parse(after)].map(Object.keys),
        [...Array(2)].map(() => ['time', 'level', 'channel', 'message']),
      )
    } else {
      t.match(inSpan, /In a span\. \{"a":1\} trace=4bf92f35\n?$/)
      t.notMatch(outside + after, 'trace')
    }
  }
})

t.test('a logger with the id of a request, also of another channel, writes it into each line', async t => {
  for (const format of ['json', 'readable'] as const) {
    const { logger, lines } = createTestLogger({ format })
    logger.correlate(() => ({ requestId: 'that of the running code' }))
    logger.withRequestId('0123456789').channel('other').info('Mine.')
    logger.info('Other.')
    const [own = '', other = ''] = lines()
    if (format === 'json') {
      t.hasStrict(parse(own), { channel: 'other', request_id: '0123456789' })
      t.equal(parse(other).request_id, 'that of the running code')
    } else t.match(own, /Mine\. request=01234567$/)
  }
})

/** Texts with characters that JSON or a log line escapes, and others. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('', '/a b', '"', '\\', '\u2028', '\u007f', 'é', '\ud800', '\n', '\u202e'),
)

t.test('a line of JSON has the bytes of JSON.stringify, with control characters escaped', async t => {
  let line = ''
  const write = (text: string) => {
    line ||= text
  }
  const logger = createLogger({ level: 'debug', format: 'json', stream: { write }, clock: () => now })
  const value = fc.oneof(
    text,
    fc.double(),
    fc.constantFrom(undefined, null, -0, 1e21, true, [1], { toJSON: () => 'x' }),
  )
  const difference = fc.check(
    fc.property(text, text, fc.dictionary(text, value), (message, id, context) => {
      line = ''
      logger.access(message, id, context)
      // A line of another channel is written at once, after those that wait.
      logger.critical('')
      const facts = Object.keys(context).length > 0 ? context : undefined
      const record = { time: now, level: 'info', channel: 'access', message, request_id: id, context: facts }
      return line === `${escapeControls(JSON.stringify(record))}\n`
    }),
    { numRuns: 1000 },
  )
  t.equal(difference.counterexample, null)
})

t.test('a line of the access log has the same bytes, the first and later ones of its kind', async t => {
  let line = ''
  const write = (text: string, encoding?: 'latin1') => {
    line += Buffer.from(text, encoding).toString()
  }
  const logger = createLogger({ level: 'debug', format: 'json', stream: { write }, clock: () => now })
  const plain = fc.string({ unit: 'grapheme-ascii', maxLength: 5 }).map(each => each.replaceAll(/["\\]/g, ' '))
  const number = fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  const kindOf = (value: fc.Arbitrary<string>) =>
    fc.record({ method: value, path: value, route: fc.option(value, { nil: undefined }), status: number })
  // A request has an id of these characters only.
  const requestId = fc.string({ unit: fc.constantFrom(...'aZ09_.~:+/=@-'), minLength: 1, maxLength: 5 })
  const linesOf = (client: fc.Arbitrary<string>) =>
    fc.array(fc.record({ requestId, ms: number, bytes: number, client }), { minLength: 1, maxLength: 4 })
  const property = fc.property(
    fc.oneof(kindOf(plain), kindOf(text)),
    fc.oneof(linesOf(plain), linesOf(text), linesOf(fc.oneof(plain, text))),
    fc.option(text),
    ({ method, path, route, status }, lines, otherMessage) => {
      line = ''
      const kind = new AccessKind(method, path, route, status)
      const message = otherMessage ?? kind.message
      const expected = lines.map(({ requestId, ms, bytes, client }) => {
        logger.access(message, requestId, new AccessEntry(kind, ms, bytes, client))
        const context = { method, path, route, status, ms, bytes, client }
        const record = { time: now, level: 'info', channel: 'access', message, request_id: requestId, context }
        return `${escapeControls(JSON.stringify(record))}\n`
      })
      logger.access('', '', {})
      const last = { time: now, level: 'info', channel: 'access', message: '', request_id: '' }
      // A line of another channel is written at once, after those that wait.
      logger.critical('')
      return line.startsWith(`${expected.join('')}${JSON.stringify(last)}\n`)
    },
  )
  t.equal(fc.check(property, { numRuns: 1000 }).counterexample, null)
})

t.test('a readable line of the access log says each fact once', t => {
  const chunks: string[] = []
  const stream = { write: (text: string) => chunks.push(text) }
  const logger = createLogger({ level: 'info', format: 'readable', stream })
  const kind = new AccessKind('GET', '/ferries/7', 'ferry', 200)
  logger.access(kind.message, 'an-id', new AccessEntry(kind, 1.5, 30, '127.0.0.1'))
  logger.error('Failed.')
  t.match(
    chunks.join(''),
    /^\S+ INFO {5}access {2}GET \/ferries\/7 200 \{"route":"ferry","ms":1.5,"bytes":30,"client":"127.0.0.1"\} request=an-id\n/,
  )
  t.end()
})

t.test('lines of the access log are written together, a moment later or before another line', async t => {
  const chunks: string[] = []
  const stream = { write: (text: string) => chunks.push(text) }
  let second = 1
  const clock = () => new Date(Date.UTC(2026, 10, 22, 12, 0, second))
  const logger = createLogger({ level: 'error', format: 'json', stream, clock })
  const observed: LogRecord[] = []
  logger.observe(record => observed.push(record))
  logger.access('GET /a 200', 'id-a', { status: 200 })
  logger.access('GET /b 200', 'id-b', { status: 200 })
  t.strictSame(chunks, [])
  await until(() => chunks.length > 0)
  t.equal(chunks.length, 1)
  const line = { time: '2026-11-22T12:00:01.000Z', level: 'info', channel: 'access', context: { status: 200 } }
  const expected = ['a', 'b'].map(name => ({ ...line, message: `GET /${name} 200`, request_id: `id-${name}` }))
  t.strictSame(String(chunks[0]).trim().split('\n').map(parse), expected)
  t.strictSame(
    observed.map(({ message, requestId }) => [message, requestId]),
    [
      ['GET /a 200', 'id-a'],
      ['GET /b 200', 'id-b'],
    ],
  )
  second = 2
  logger.access('GET /c 200', 'id-c', {})
  logger.error('Failed.')
  t.match(chunks.slice(1), [/12:00:02.*"GET \/c 200"/, /"Failed\."/])
  logger.access('GET /d 200', 'id-d', { long: 'x'.repeat(70_000) })
  t.equal(chunks.length, 4, 'many lines are written at once')
})

t.test('plain lines of the access log and others keep their order, also if there are many', async t => {
  const chunks: string[] = []
  const logger = createLogger({
    level: 'error',
    format: 'json',
    stream: { write: (text: string, encoding?: 'latin1') => chunks.push(Buffer.from(text, encoding).toString()) },
  })
  const kind = new AccessKind('GET', '/', undefined, 200)
  const plain = new AccessEntry(kind, 0, 0, '')
  const other = new AccessEntry(kind, 0, 0, 'é')
  const expected: string[] = []
  for (let number = 0; number < 2_000; number++) {
    expected.push(`${number}`)
    const entry = number % 7 === 0 ? other : plain
    logger.access('GET / 200', `${number}`, number % 5 === 0 ? {} : entry)
  }
  logger.access('GET / 200', 'x'.repeat(70_000), plain)
  logger.access('GET / 200', 'last', plain)
  await until(() => chunks.at(-1)?.includes('last') === true)
  const ids = chunks
    .join('')
    .trim()
    .split('\n')
    .map(line => parse(line).request_id)
  t.strictSame(ids, [...expected, 'x'.repeat(70_000), 'last'])
  t.ok(chunks.length < 20, 'together')
})

t.test('lines of the access log that wait are written when the process exits', async t => {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('../../../lib/log/create-logger.js', import.meta.url).href)}
    const logger = createLogger({ level: 'error', format: 'json', stream: process.stdout })
    logger.access('GET / 200', 'id', {})
    process.exit()`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  t.equal(parse(stdout).message, 'GET / 200')
})

t.test('a record below the level is not created if there is no observer', async t => {
  const { logger } = createTestLogger({
    format: 'json',
    level: 'error',
    clock: () => t.fail('must not be asked') as never,
  })
  logger.debug('x')
})

t.test('a failing stream or observer does not make the logger throw', async t => {
  const refuse = () => {
    throw new Error('EPIPE')
  }
  createLogger({ level: 'debug', format: 'json', stream: { write: refuse } }).error('x')
  const { logger, lines } = createTestLogger({ format: 'readable' })
  logger.observe(refuse)
  logger.access('GET / 200', 'id', {})
  logger.error('x')
  t.equal(lines().length, 2)

  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('ENOSPC')) })
  const failed = new Promise(resolve => full.once('close', resolve))
  createLogger({ level: 'debug', format: 'json', stream: full }).error('x')
  await failed
  t.ok(full.errored)
})

t.test('a slow reader of a pipe gets every line, and a closed pipe does not end the process', async t => {
  const module = JSON.stringify(new URL('../../../lib/log/create-logger.js', import.meta.url).href)
  const program = `
    import { createLogger } from ${module}
    const logger = createLogger({ level: 'debug', format: 'json', stream: process.stdout })
    for (let line = 1; line <= 5000; line++) logger.info('{line}', { line, text: 'x'.repeat(200) })
    process.stdout.write('', () => process.exit(7))`
  const pipe = (reader: string) => {
    const line = `("$0" --input-type=module -e "$1"; echo "exit code $?" >&2) | ${reader}`
    return spawnSync('sh', ['-c', line, process.execPath, program], { encoding: 'utf8', maxBuffer: 10_000_000 })
  }
  const all = pipe('cat')
  t.equal(all.stderr, 'exit code 7\n')
  const messages = all.stdout.split('\n').map(line => (line === '' ? '' : parse(line).message))
  t.strictSame(messages, [...Array.from({ length: 5000 }, (_, index) => String(index + 1)), ''])
  t.equal(pipe('head -n 1').stderr, 'exit code 7\n')
})

t.test('the mistake of a client is logged without a stack', async t => {
  const cause = new Error('why')
  const exception = new HttpError(404, 'not here', { cause })
  const { context } = record(logger => logger.error('Uncaught "{message}"', { message: 'not here', exception }))
  t.hasStrict(context.exception, { name: 'HttpError', status: 404, stack: '', cause: { message: 'why', stack: '' } })
  const { logger, lines } = createTestLogger({ format: 'readable' })
  logger.error('Uncaught "{message}"', { message: 'not here', exception })
  t.equal(lines().length, 1, 'the message says it all')
  logger.error('Uncaught', { exception })
  t.strictSame(lines().slice(2), ['  HttpError [HTTP_ERROR]: not here', '  caused by Error: why'])
})

t.test('each line has its time in ISO 8601, whatever the time of the line before', t => {
  const nearby = fc.integer({ min: -1500, max: 1500 }).map(ms => new Date(ms))
  const dates = fc.array(fc.oneof(nearby, fc.date({ noInvalidDate: true })), { minLength: 1, maxLength: 6 })
  const property = fc.property(dates, moments => {
    let moment = now
    const { logger, lines } = createTestLogger({ format: 'json', clock: () => moment })
    for (moment of moments) logger.info('')
    const times = lines().map(line => parse(line).time)
    return times.join() === moments.map(each => each.toISOString()).join()
  })
  t.equal(fc.check(property, { numRuns: 1000 }).counterexample, null)
  t.end()
})

t.test('the default clock is that of the machine', async t => {
  const chunks: string[] = []
  const before = Date.now()
  createLogger({ level: 'debug', format: 'json', stream: { write: text => chunks.push(text) } }).error('x')
  t.ok(Date.parse(parse(chunks[0]).time) >= before)
})

function createTestLogger(
  options: Partial<LoggerOptions> & Pick<LoggerOptions, 'format'>,
  stream: { isTTY?: boolean } = {},
): { logger: Logger; written: () => string; lines: () => string[] } {
  const chunks: string[] = []
  const logger = createLogger({
    level: 'debug',
    clock: () => now,
    stream: { write: text => chunks.push(text), ...stream },
    ...options,
  })
  return { logger, written: () => chunks.join(''), lines: () => chunks.join('').split('\n').slice(0, -1) }
}

function record(log: (logger: Logger) => void): LogRecord {
  const records: LogRecord[] = []
  const { logger } = createTestLogger({ format: 'json' })
  logger.observe(record => records.push(record))
  log(logger)
  const [only] = records
  if (only === undefined) throw new Error('Nothing was logged.')
  return only
}

/** Texts of harmful characters. */
function hostile(): fc.Arbitrary<string> {
  const characters = [
    '\n',
    '\r',
    '\x1b[2J',
    '\x9b',
    '\x7f',
    '\0',
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2066',
    '\u200f',
    'a',
  ]
  return fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 8 }).map(parts => parts.join(''))
}

function parse(line: string | undefined): ReturnType<typeof JSON.parse> {
  return JSON.parse(line ?? '')
}
