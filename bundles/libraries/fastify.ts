import { type ChannelListeners, listenTo } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { noteRegistration } from '../profiler/record/middleware-trace.ts'
import { hasRoute, mountedAt, nameOf, report } from './framework-calls.ts'
import type { FileChanges } from './publish.ts'

/** Fastify 4 and 5 publish each new application. */
export const fastifyListeners: ChannelListeners = {
  'fastify.initialization': listenTo<FastifyCreation>(({ fastify }) => watchFastify(fastify)),
}

/** The hooks of Fastify that run before a response ends. */
const fastifyHooks = 'onRequest preParsing preValidation preHandler preSerialization onSend onError'.split(' ')

/** Plugins inherit the changed method from their application. */
function watchFastify(fastify: FastifyApplication): void {
  const { addHook } = fastify
  const watched = (phase: string, code: unknown): unknown => {
    if (typeof code !== 'function') return code
    const called = { phase, name: nameOf(code), code }
    return observeCalls(code as AnyFunction, (_, args) => {
      // The hooks `preSerialization` and `onSend` have the request first, too.
      const request = args[0] as FastifyRequest
      noteRoute(request)
      report(({ onCall }) => onCall(request.raw, called))
      return undefined
    })
  }
  const watchRoute = (options: Record<string, unknown>) => {
    for (const name of ['handler', ...fastifyHooks]) {
      const given = options[name]
      if (given === undefined) continue
      for (const code of [given].flat()) if (typeof code === 'function') noteRegistration(code, watchRoute)
      options[name] = Array.isArray(given) ? given.map(code => watched(name, code)) : watched(name, given)
    }
  }
  addHook.call(fastify, 'onRoute', watchRoute)
  if (!isChanged) {
    addHook.call(fastify, 'onError', (request: FastifyRequest, _reply: unknown, error: unknown, done: () => void) => {
      noteError(request, error)
      done()
    })
  }
  observeMethod(fastify, 'addHook', function add(_, args) {
    const [name, hook] = args
    if (typeof hook !== 'function' || !fastifyHooks.includes(String(name))) return undefined
    noteRegistration(hook, add)
    args[1] = watched(String(name), hook)
    return undefined
  })
}

let isChanged = false

/** Lets Fastify report the errors that it answers. A hook would have frames in the stacks of other errors. */
export const fastifyFiles: FileChanges = {
  'lib/error-handler.js'(exports) {
    if (typeof Object(exports).buildErrorHandler !== 'function') return
    isChanged = true
    observeMethod(Object(exports), 'handleError', (_, [reply, error]) =>
      noteError((reply as { readonly request: FastifyRequest }).request, error),
    )
  },
}

function noteError(request: FastifyRequest, error: unknown): undefined {
  noteRoute(request)
  report(({ onError }) => onError(request.raw, error))
}

function noteRoute({ params, raw, routeOptions }: FastifyRequest): void {
  const { handler, url } = routeOptions ?? {}
  if (url === undefined || hasRoute(raw)) return
  // A copy: they have a class of the router.
  const parameters = { ...(params as object) }
  const route = { key: raw, pattern: mountedAt(raw) + url, parameters, handler: nameOf(handler) }
  report(({ onRoute }) => onRoute(raw, route))
}

interface FastifyApplication {
  addHook: AnyFunction
}

interface FastifyCreation {
  readonly fastify: FastifyApplication
}

interface FastifyRequest {
  readonly raw: object
  readonly params: unknown
  readonly routeOptions?: { readonly url?: string; readonly handler?: unknown }
}
