import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Application,
  type Bundle,
  type ControllerArgumentsEvent,
  type ControllerEvent,
  type ExceptionEvent,
  HttpError,
  type KernelEvent,
  type Request,
  type RequestEvent,
  type ResponseEvent,
  type ViewEvent,
} from 'sinfonietta'
import { type Controller, defineController } from '#kernel/controller.ts'
import { type Body, Response } from '#lib/http/response.ts'
import { lifecycle } from '../support/lifecycle.ts'

function refuse(): never {
  throw new Error('this is not to be touched')
}

const handler = {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
  isExtensible: refuse,
}

function createHostile(): object {
  const getters = ['name', 'message', 'stack', 'cause', 'code', 'status', 'headers', 'toString', 'then']
  return Object.create(Error.prototype, Object.fromEntries(getters.map(name => [name, { get: refuse }])))
}

function createCycle(): Error {
  const error = new Error('a cycle')
  error.cause = new Error('one', { cause: new AggregateError([error, error], 'two', { cause: error }) })
  return error
}

/** Things that can be thrown. */
const throwables: Readonly<Record<string, () => unknown>> = {
  error: () => new Error('an error'),
  undefined: () => undefined,
  null: () => null,
  text: () => 'just text',
  symbol: () => Symbol('a symbol'),
  function: () => refuse,
  frozen: () => Object.freeze(new Error('frozen')),
  empty: () => Object.create(null),
  hostile: createHostile,
  'hostile-http': () => Object.defineProperty(new HttpError(418, ''), 'status', { get: refuse }),
  'bad-headers': () => new HttpError(500, '', { headers: { 'bad name': 'a\r\nb: c' } }),
  proxy: () => new Proxy(new Error('proxied'), handler),
  cycle: createCycle,
  long: () => new Error('é'.repeat(2 ** 19)),
  surrogate: () => new Error(`${'x'.repeat(1999)}\ud83d\ude00 \ud800`),
  'name-surrogate': () => Object.assign(new Error('\udfff'), { name: '\ud800\r\nx: y' }),
}

/** The names of the {@link throwables}. */
export const throwableNames: readonly string[] = Object.keys(throwables)

/** What can be returned by who returns nothing, or a value. */
const values: Readonly<Record<string, () => unknown>> = {
  number: () => 42,
  text: () => 'text',
  'hostile-thenable': createHostile,
  'hasty-thenable': () => ({
    // biome-ignore lint/suspicious/noThenProperty: it is a thenable on purpose.
    then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
      resolve(1)
      resolve(2)
      reject(new Error('too late'))
    },
  }),
}

export const valueNames: readonly string[] = Object.keys(values)

/** Puts nonsense where an event has a place for something, once for each such place. */
const nonsense: Readonly<Record<string, (event: unknown) => void>> = {
  'kernel.request': event => (event as RequestEvent).respond(42 as unknown as Response),
  'kernel.controller': event => Object.assign(event as ControllerEvent, { controller: undefined }),
  'kernel.controller_arguments': event => Object.assign(event as ControllerArgumentsEvent, { arguments: null }),
  'kernel.view': event => (event as ViewEvent).respond({} as Response),
  'kernel.response': event => Object.assign(event as ResponseEvent, { response: null }),
  'kernel.exception': event => (event as ExceptionEvent).respond('text' as unknown as Response),
}

export const nonsenseEvents: readonly string[] = Object.keys(nonsense)

/** Bodies that a response cannot have, or has not for long. */
const bodies: Readonly<Record<string, () => unknown>> = {
  number: () => 5,
  object: () => ({}),
  buffer: () => new ArrayBuffer(8),
  destroyed: () => Readable.from(['x']).destroy(),
  'objects-at-once': () => Readable.from([{ a: 1 }]),
  'objects-later': () => Readable.from(['text', 5, 'more']),
  'fails-at-once': () => new Readable({ read: refuse }),
  'fails-later': () => Readable.from(failing()),
  'closes-early': () => {
    const stream = new Readable({ read: () => undefined })
    stream.push('a part')
    setTimeout(() => stream.destroy(), 10)
    return stream
  },
}

export const bodyNames: readonly string[] = Object.keys(bodies)

async function* failing(): AsyncGenerator<string> {
  yield 'a part'
  await nextTurn()
  throw new Error('no more')
}

/** Does what a word says: `throw-frozen`, `reject-text`, `return-number`, `hang`, `nonsense`, `twice`. */
function misbehave(how: string, event?: unknown): unknown {
  const [kind = '', ...rest] = how.split('-')
  const what = rest.join('-')
  if (kind === 'throw') throw throwables[what]?.()
  if (kind === 'reject') return Promise.reject(throwables[what]?.())
  if (kind === 'return') return values[what]?.()
  if (kind === 'hang') return new Promise(() => undefined)
  if (kind === 'nonsense') nonsense[what]?.(event)
  if (kind === 'twice') {
    const answerable = event as RequestEvent
    answerable.respond(Response.text('first'))
    answerable.respond(Response.text('second'))
  }
  return undefined
}

const isWanted = (place: string, { query }: Request) => query.get('at') === place

/**
 * Misbehaves as the query of a request says: `at` a place (an event, `controller`, `argument`, `error_controller`),
 * `how`, and, where events of its sub-requests are meant too, `scope=all`.
 */
export const faultyBundle: Bundle = {
  name: 'faulty',
  register(app) {
    const { controllers, dispatcher, routes } = app
    for (const type of lifecycle) {
      const misbehaveAtEvent = (event: KernelEvent) => {
        const { isMainRequest, request } = event
        if (!isWanted(type.eventName, request)) return undefined
        if (!isMainRequest && request.query.get('scope') !== 'all') return undefined
        return misbehave(String(request.query.get('how')), event)
      }
      dispatcher.on(type, misbehaveAtEvent, 5)
    }
    controllers.decorate('error_controller', inner => decorate(app, inner))
    routes.add({ name: 'faulty', path: '/faulty', controller: faulty })
    routes.add({ name: 'own', path: '/own/:id', controller: own })
    routes.add({ name: 'self', path: '/self', controller: request => app.kernel.forward(request, 'selfish') })
    controllers.register('selfish', {
      name: 'selfish',
      arguments: [request => request],
      call: request => app.kernel.forward(request as Request, 'selfish'),
    })
    routes.add({
      name: 'body',
      path: '/body/:name',
      controller: ({ attributes }) => new Response(bodies[String(attributes.get('_route_params')?.name)]?.() as Body),
    })
  },
}

const faulty: Controller = defineController(
  'faulty',
  { fault: request => isWanted('argument', request) && misbehave(String(request.query.get('how'))) },
  (_values, request) =>
    isWanted('controller', request) ? misbehave(String(request.query.get('how'))) : Response.text('no fault at all'),
)

/** Answers with what only this request has: nothing of another one may come in between. */
async function own({ attributes }: Request): Promise<Response> {
  const before = String(attributes.get('_route_params')?.id)
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  const response = Response.text(`${before} ${attributes.get('_route_params')?.id}`)
  response.headers.set('x-own', before)
  return response
}

function decorate({ kernel }: Application, inner: Controller): Controller {
  return {
    name: inner.name,
    arguments: [request => request, ...inner.arguments],
    async call(first, ...others) {
      const request = first as Request
      if (!isWanted('error_controller', request)) return inner.call(...others)
      const how = String(request.query.get('how'))
      if (how === 'loop-later') await nextTurn()
      return how.startsWith('loop') ? kernel.forward(request, 'error_controller') : misbehave(how)
    },
  }
}
