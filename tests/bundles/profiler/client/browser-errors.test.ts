import { type Test, t } from 'tap'
import { openPage, type Page } from './page.ts'

interface Reporter {
  readonly page: Page
  /** The reports of each message, by its path. */
  readonly sent: () => Promise<{ readonly path: string; readonly errors: readonly Record<string, unknown>[] }[]>
  readonly dispatch: (type: string, fields?: object, target?: EventTarget) => void
  readonly printed: unknown[][]
}

let runs = 0

/** Opens a page whose first script reports errors. */
async function openReporter(
  t: Test,
  { path = '/_wdt/abc123/browser-errors', token }: { path?: string; token?: string } = {},
): Promise<Reporter> {
  const page = openPage(t, '<img id="image" src="/missing.png"><b id="plain"></b>', 'http://localhost/shop')
  const beacons: [path: string, body: Blob][] = []
  const printed: unknown[][] = []
  const { window } = page
  /** The simulated browser has no such event. */
  class FailureEvent extends window.Event {
    constructor(fields: object) {
      super('error')
      Object.assign(this, fields)
    }
  }
  page.replace('ErrorEvent', FailureEvent)
  page.replace('navigator', {
    sendBeacon(path: string, body: Blob) {
      beacons.push([path, body])
      return true
    },
  })
  const timing = token === undefined ? [] : [{ serverTiming: [{ name: 'profile', description: token }] }]
  page.replace('performance', { now: () => 12.5, getEntriesByType: () => timing })
  Object.assign(window, { console: { error: (...values: unknown[]) => printed.push(values) } })
  Object.defineProperty(document, 'currentScript', {
    value: { dataset: path === '' ? {} : { profilerErrors: path } },
    configurable: true,
  })
  // A module runs once for each address.
  const script = new URL(`../../../../bundles/profiler/client/browser-errors.js?${++runs}`, import.meta.url)
  await import(script.href)
  return {
    page,
    printed,
    async sent() {
      const messages = await Promise.all(
        beacons.map(async ([path, body]) => ({ path, ...JSON.parse(await body.text()) })),
      )
      beacons.length = 0
      return messages
    },
    dispatch(type, fields = {}, target = window) {
      const event = type === 'exception' ? new FailureEvent(fields) : Object.assign(new window.Event(type), fields)
      target.dispatchEvent(event)
    },
  }
}

function thrown(message: string, stack: string): TypeError {
  return Object.assign(new TypeError(message), { stack })
}

t.test('all kinds of errors are reported together, with place and stack', async t => {
  const { dispatch, page, printed, sent } = await openReporter(t)
  const stack = 'TypeError: x is not a function\n    at run (http://localhost/assets/a.js:3:7)'
  const exception = {
    message: 'Uncaught TypeError: x is not a function',
    filename: 'http://localhost/assets/a.js',
    lineno: 3,
    colno: 7,
  }
  dispatch('exception', { ...exception, error: thrown('x is not a function', stack) })
  dispatch('exception', { message: 'Script error.', filename: '', lineno: 0, colno: 0, error: null })
  dispatch('error', {}, page.find('#image'))
  dispatch('error', {}, page.find('#plain'))
  dispatch('error', {}, document)
  dispatch('unhandledrejection', { reason: thrown('late', 'run@http://localhost/a.js:1:2') })
  dispatch('unhandledrejection', { reason: { code: 7 } })
  dispatch('unhandledrejection', { reason: undefined })
  const policy = {
    effectiveDirective: 'img-src',
    blockedURI: 'http://other/x.png',
    sourceFile: 'http://localhost/shop',
    lineNumber: 9,
    columnNumber: 1,
  }
  dispatch('securitypolicyviolation', policy)
  dispatch('securitypolicyviolation', { ...policy, sourceFile: '' })
  t.strictSame(await sent(), [], 'errors of the same moment are one message')
  await page.pass(200)
  const [message, ...more] = await sent()
  t.strictSame(more, [])
  t.equal(message?.path, '/_wdt/abc123/browser-errors')
  t.strictSame(message?.errors, [
    {
      kind: 'exception',
      message: 'TypeError: x is not a function',
      file: 'http://localhost/assets/a.js',
      line: 3,
      column: 7,
      at: 12.5,
      stack: '    at run (http://localhost/assets/a.js:3:7)',
    },
    { kind: 'exception', message: 'Script error.', at: 12.5 },
    { kind: 'resource', message: '<img> /missing.png', at: 12.5 },
    { kind: 'rejection', message: 'TypeError: late', at: 12.5, stack: 'run@http://localhost/a.js:1:2' },
    { kind: 'rejection', message: '{"code":7}', at: 12.5 },
    { kind: 'rejection', message: 'undefined', at: 12.5 },
    {
      kind: 'policy',
      message: 'img-src does not allow http://other/x.png',
      file: 'http://localhost/shop',
      line: 9,
      column: 1,
      at: 12.5,
    },
    { kind: 'policy', message: 'img-src does not allow http://other/x.png', at: 12.5 },
  ])
  t.strictSame(printed, [])
})

t.test('console.error is reported with filled placeholders, and prints as before', async t => {
  const { page, printed, sent } = await openReporter(t, { token: 'bcd234' })
  const { console } = page.window
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const calls: unknown[][] = [
    ['%s failed after %d tries, 100%% %o', 'save', 3, { a: 1 }, 'end'],
    ['%cred', 'color: red', '%s'],
    ['%s and %s', 'one'],
    [new Error('an error'), 'more'],
    [],
    [circle],
    [{ toJSON: () => console.error('inside') }],
    [{ toString: undefined, toJSON: () => undefined, valueOf: undefined }],
    [null],
  ]
  for (const values of calls) console.error(...values)
  await page.pass(200)
  const [message] = await sent()
  t.equal(message?.path, '/_wdt/bcd234/browser-errors', 'the header of the response names the profile')
  t.strictSame(
    message?.errors.map(({ message }) => message),
    [
      'save failed after 3 tries, 100% {"a":1} end',
      'red %s',
      'one and %s',
      'Error: an error more',
      'undefined',
      '[object Object]',
      '[object Object]',
      'null',
    ],
  )
  t.match(message?.errors[0]?.stack, /at .+/)
  t.equal(printed.length, calls.length + 1)
})

t.test('a page reports at most 20 errors, the last ones when it is left', async t => {
  const { dispatch, page, sent } = await openReporter(t)
  for (let count = 0; count < 15; count++)
    dispatch('unhandledrejection', { reason: `error ${count} ${'x'.repeat(2000)}` })
  await page.pass(200)
  const [first] = await sent()
  t.equal(first?.errors.length, 15)
  t.equal(String(first?.errors[0]?.message).length, 1000)
  for (let count = 0; count < 15; count++) dispatch('unhandledrejection', { reason: 'again' })
  dispatch('pagehide')
  t.equal((await sent())[0]?.errors.length, 5)
  await page.pass(1000)
  dispatch('pagehide')
  t.strictSame(await sent(), [])
})

t.test('a second script, or one without a profile, does nothing', async t => {
  const { page } = await openReporter(t, { path: '' })
  const key = Symbol.for('profiler.page-errors')
  t.equal(Reflect.get(page.window, key), undefined)
  const second = await openReporter(t)
  const errors = Reflect.get(second.page.window, key)
  await import(new URL(`../../../../bundles/profiler/client/browser-errors.js?${++runs}`, import.meta.url).href)
  t.equal(Reflect.get(second.page.window, key), errors)
  let calls = 0
  errors.onError = () => calls++
  second.dispatch('unhandledrejection', { reason: 'x' })
  t.equal(calls, 1, 'the toolbar is updated for each error')
})
