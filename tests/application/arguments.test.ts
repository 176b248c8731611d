import {
  type Application,
  asListOf,
  contentDisposition,
  createFileResponse,
  createFrameworkBundle,
  defineError,
  defineSettings,
  EventStream,
  failedRequest,
  Headers,
  HttpError,
  inputsOf,
  isDebugOn,
  kernelRequestOf,
  preferredMediaType,
  profile,
  queryValue,
  Response,
  recordMail,
  WebSocketUpgrade,
} from 'sinfonietta'
import { ProfileExpectation } from 'sinfonietta/profiler/testing'
import { createRedisProfileStorage, createRedisSessionStore } from 'sinfonietta/redis'
import { createRequest, createResponseEvent, createTestKernel, encodeUpload, TestClient } from 'sinfonietta/testing'
import { t } from 'tap'
import { createShown } from '#tests/support/create-profile.ts'

// Node runs TypeScript without a check of types. Each argument is replaced by values of other kinds, one after the
// other: the error is one of the package, with its code, and never one of V8 from the inside of the package.

class Shop {}

/** Values that no argument of the table takes. A kind names those that fit it. */
const wrongValues = {
  undefined,
  null: null,
  number: 5,
  text: 'x',
  list: [1],
  object: { zzz: 1 },
  async: async () => undefined,
  class: Shop,
  map: new Map(),
  promise: Promise.resolve(1),
} as const

type Fitting = readonly (keyof typeof wrongValues)[]
const text: Fitting = ['text']
const maybeText: Fitting = ['text', 'undefined', 'null']
const waiting: Fitting = ['async']
const number: Fitting = ['number']
const list: Fitting = ['list']
const any: Fitting = Object.keys(wrongValues) as (keyof typeof wrongValues)[]
const maybe = (fitting: Fitting): Fitting => [...fitting, 'undefined']
const nothing: Fitting = []

const answer = () => new Response('done')
const request = createRequest('/', { headers: { host: 'shop.test' } })

/** The arguments of a call, each with what fits it beside its right value. */
type Row = readonly [
  call: (...values: never[]) => unknown,
  ...values: readonly (readonly [right: unknown, fitting: Fitting])[],
]

async function createRows(): Promise<{ rows: Readonly<Record<string, Row>>; close: () => Promise<void> }> {
  const { app, client, close } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      { name: 'shop', register: ({ routes }) => void routes.get('shop', '/shop/:id', answer) },
    ],
  })
  const { dispatcher, files, kernel, redactor, secrets, signals, urls } = app
  const { session, stopwatch } = createRequest('/', { session: {} })
  const expectation = new ProfileExpectation(createShown({}), [])
  const response = await client.get('/shop/1')
  const rows: Readonly<Record<string, Row>> = {
    asListOf: [asListOf, [{ expected: 'a text', convert: (given: string) => given }, nothing]],
    queryValue: [
      (conversion: never) => queryValue('page', conversion),
      [{ expected: 'a text', convert: (given: string) => given }, ['undefined']],
    ],
    contentDisposition: [contentDisposition, ['a.pdf', text], ['inline', ['undefined']]],
    createFileResponse: [createFileResponse, [request, nothing], ['a.pdf', text]],
    defineError: [defineError, ['SHOP_CLOSED', text], [503, nothing], ['The shop is closed.', text]],
    'new of a coded error': [
      (values: never) => new (defineError('SHOP_CLOSED', 503, 'The shop %s is closed.'))(values),
      [['a'], list],
    ],
    defineSettings: [defineSettings, [{}, nothing], [() => ({}), ['undefined']]],
    EventStream: [(...values: [never, never]) => new EventStream(...values), [request, nothing], [answer, waiting]],
    failedRequest: [failedRequest, [request, nothing]],
    'headers.get': [(name: never) => new Headers({ a: 'b' }).get(name), ['a', text]],
    'headers.delete': [(name: never) => new Headers({ a: 'b' }).delete(name), ['a', text]],
    Headers: [(init: never) => new Headers([init]), [['a', 'b'], nothing]],
    inputsOf: [inputsOf, [{ controller: answer }, ['object']]],
    isDebugOn: [isDebugOn, [app.config, nothing]],
    kernelRequestOf: [kernelRequestOf, [request, any]],
    preferredMediaType: [preferredMediaType, [request.headers, nothing], [['text/html'], nothing]],
    profile: [profile, ['a', text], [() => 1, [...waiting, 'class']]],
    recordMail: [recordMail, [{ to: ['a@shop.test'] }, nothing], [answer, waiting], [answer, waiting]],
    'recordMail, to': [(to: never) => recordMail({ to }, answer, answer), [['a@shop.test'], ['undefined']]],
    WebSocketUpgrade: [
      (first: never) => new WebSocketUpgrade(first, answer),
      // No handshake.
      [undefined, nothing],
    ],
    'Response.empty': [
      (...values: [never]) => Reflect.apply(Response.empty, Response, [204, ...values]),
      [[], nothing],
    ],
    createRedisSessionStore: [createRedisSessionStore, [{ url: 'redis://a' }, nothing]],
    createRedisProfileStorage: [createRedisProfileStorage, [{ url: 'redis://a' }, nothing]],
    'limits of createRedisProfileStorage': [
      (count: never) => createRedisProfileStorage({ url: 'redis://a', limits: { count } }),
      [5, maybe(number)],
    ],
    createRequest: [createRequest, ['/', maybe(text)]],
    'createRequest, form': [(form: never) => createRequest('/', { form }), [{ a: 'b' }, ['undefined', 'object']]],
    'createRequest, json': [
      (json: never) => createRequest('/', { json }),
      [{}, ['undefined', 'null', 'number', 'text', 'list', 'object']],
    ],
    encodeUpload: [encodeUpload, [{ a: 'b' }, nothing]],
    'encodeUpload, file': [(content: never) => encodeUpload({ a: { name: 'a', content } }), ['b', text]],
    'client.get': [(path: never) => client.get(path), ['/shop/1', nothing]],
    'client.get, options': [(init: never) => client.get('/shop/1', init), [{}, ['undefined']]],
    'client.request': [(method: never) => client.request(method, '/shop/1'), ['GET', text]],
    'client.follow': [client.follow.bind(client), [response, nothing]],
    'client.cookies.get': [(name: never) => client.cookies.get(name), ['a', text]],
    TestClient: [(first: never) => new TestClient(first), [kernel, nothing]],
    variables: [
      async (given: never) => (await createTestKernel({ bundles: [], variables: { SHOP_SIZE: given } })).close(),
      ['5', text],
    ],
    'event.complete': [(complete: never) => createResponseEvent().complete(complete), [answer, waiting]],
    'dispatcher.on': [
      (listener: never) => dispatcher.on({ eventName: 'kernel.request', prototype: Shop.prototype } as never, listener),
      [answer, nothing],
    ],
    'files.add': [
      (...values: [never, never, never]) => files.add(...values),
      ['shop', text],
      ['tests', text],
      [{ isOptional: true }, ['undefined']],
    ],
    'kernel.forward': [
      (...values: [never, never, never]) =>
        kernel.forward(...values).catch((error: unknown) => {
          throw error
        }),
      [request, nothing],
      [answer, ['number', 'text', 'list', 'object', 'async', 'class', 'map', 'promise']],
      [{}, ['undefined', 'object']],
    ],
    'kernel.run': [(task: never) => kernel.run(request, task), [answer, [...waiting, 'class']]],
    'redactor.add': [(mask: never) => redactor.add(mask), [(given: string) => given, nothing]],
    'secrets.sign': [secrets.sign.bind(secrets), ['a', text], ['b', text]],
    'secrets.verify': [secrets.verify.bind(secrets), ['a', text], ['b', maybeText]],
    'secrets.decrypt': [secrets.decrypt.bind(secrets), ['a', text], ['b', maybeText]],
    'session.get': [session.get.bind(session), ['a', text]],
    'session.has': [session.has.bind(session), ['a', text]],
    'session.delete': [session.delete.bind(session), ['a', text]],
    'session.take': [session.take.bind(session), ['a', text]],
    'session.flash': [session.flash.bind(session), ['a', text]],
    'session.flashes': [session.flashes.bind(session), ['a', maybe(text)]],
    'session.update': [session.update.bind(session), ['a', text], [() => 1, nothing]],
    'signals.on': [signals.on, ['kernel.booted', text], [answer, waiting]],
    'stopwatch.start': [stopwatch.start.bind(stopwatch), ['a', text], ['b', maybe(text)]],
    'stopwatch.measure': [stopwatch.measure.bind(stopwatch), ['a', text], ['b', text], [answer, waiting]],
    'urls.generate, options': [
      (options: never) => urls.generate('shop', { id: 1 }, options),
      [{ absolute: false }, ['undefined']],
    ],
    'urls.generate, request': [
      (given: never) => urls.generate('shop', { id: 1 }, { absolute: true, request: given }),
      [request, nothing],
    ],
    'request.sendEarlyHints': [(links: never) => createRequest('/').sendEarlyHints(links), [[], nothing]],
    'not.answered': [(status: never) => expectation.not.answered(status), [500, number]],
    'not.called': [(name: never) => expectation.not.called(name), ['a', text]],
    'not.dispatched': [(name: never) => expectation.not.dispatched(name), ['a', text]],
    'not.rendered': [(name: never) => expectation.not.rendered(name), ['a', maybe(text)]],
    'not.sentRequestsTo': [(url: never) => expectation.not.sentRequestsTo(url), ['a', text]],
    'not.ran': [(queries: never) => expectation.not.ran(queries), [{}, maybe(number)]],
    'not.threw': [(name: never) => expectation.not.threw(name), ['a', maybe(text)]],
    dataOf: [(name: never) => expectation.dataOf(name), ['a', text]],
    toMarkdown: [(panel: never) => expectation.toMarkdown(panel), ['request', maybe(text)]],
  }
  return { rows, close }
}

t.test('an argument of another kind is refused by an error of the package', async t => {
  const { close, rows } = await createRows()
  t.teardown(close)
  const offences: string[] = []
  for (const [name, [call, ...values]] of Object.entries(rows)) {
    for (const [index, [, fitting]] of values.entries()) {
      for (const [kind, value] of Object.entries(wrongValues)) {
        if (fitting.some(each => each === kind)) continue
        const given = values.map(([right], at) => (at === index ? value : right)) as never[]
        const place = `${name}, argument ${index + 1}, ${kind}`
        try {
          await call(...given)
          offences.push(`${place}: nothing`)
        } catch (error) {
          const isOurs = error instanceof HttpError || /^[^:]+: .+ (?:must|so write) /.test(String(error))
          if (!isOurs) offences.push(`${place}: ${error}`)
        }
      }
    }
  }
  t.strictSame(offences, [])
})

t.test('unusual arguments that are right are accepted', async t => {
  const wrong = (value: unknown): never => value as never
  class Own extends Headers {}
  const uses: Readonly<Record<string, () => unknown>> = {
    'a conversion with keys of its own': () =>
      queryValue('page', wrong({ expected: 'a', convert: String, pattern: 'a' })),
    'a conversion that is an object of a class': () =>
      asListOf(
        new (class {
          expected = 'a text'
          convert(given: string) {
            return given
          }
        })(),
      ),
    'an error without placeholders': () => new (defineError('SHOP_CLOSED', 503, 'The shop is closed.'))([]),
    'a number in the form of a test': () => createRequest('/', { form: wrong({ count: 5, tags: ['a', 6] }) }),
    'an empty upload': () => encodeUpload({}),
    'null as JSON': () => createRequest('/', { json: null }),
    'headers of a subclass': () => preferredMediaType(new Own({ accept: 'text/html' }), ['text/html']),
    'no media type': () => preferredMediaType(new Headers({ accept: 'text/html' }), []),
    'pairs of headers': () => new Headers(new Map([['a', 'b']])),
    'a mail of which little is known': () => recordMail({ subject: 'a', from: undefined }, answer, answer),
    'an async task': () => profile('a', async () => 1),
    'the settings of no bundle': () => defineSettings({}),
  }
  const offences: string[] = []
  for (const [name, use] of Object.entries(uses)) {
    try {
      await use()
    } catch (error) {
      offences.push(`${name}: ${error}`)
    }
  }
  t.strictSame(offences, [])
})

t.test('a condition may return any value that is no promise', async t => {
  const shop = {
    name: 'shop',
    register: ({ routes }: Application) =>
      void routes.add({ name: 'a', path: '/a', condition: ({ query }) => query.get('b') as never, controller: answer }),
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  t.strictSame([(await client.get('/a?b=1')).status, (await client.get('/a')).status], [200, 404])
})
