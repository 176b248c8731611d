import type { AnyFunction } from '../../../kernel/libraries/publish.ts'
import { type ChannelListeners, listenTo } from '../../../lib/channels.ts'
import { noteRegistration } from '../record/middleware-trace.ts'
import { mountedAt, nameOf, report, wrapFunction } from './framework-calls.ts'

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
    return wrapFunction(code as AnyFunction, (call, self, args) => {
      report(({ onCall }) => onCall((args[0] as FastifyRequest).raw, called))
      return Reflect.apply(call, self, args)
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
  addHook.call(fastify, 'onRequest', (request: FastifyRequest, _reply: unknown, done: () => void) => {
    const { params, raw, routeOptions } = request
    const { handler, url } = routeOptions ?? {}
    if (url !== undefined) {
      // A copy: they have a class of the router.
      const parameters = { ...(params as object) }
      const route = { key: raw, pattern: mountedAt(raw) + url, parameters, handler: nameOf(handler) }
      report(({ onRoute }) => onRoute(raw, route))
    }
    done()
  })
  addHook.call(fastify, 'onError', (request: FastifyRequest, _reply: unknown, error: unknown, done: () => void) => {
    report(({ onError }) => onError(request.raw, error))
    done()
  })
  fastify.addHook = wrapFunction(addHook, (add, self, args) => {
    const [name, hook, ...others] = args
    if (typeof hook !== 'function' || !fastifyHooks.includes(String(name))) return Reflect.apply(add, self, args)
    noteRegistration(hook, fastify.addHook)
    return Reflect.apply(add, self, [name, watched(String(name), hook), ...others])
  })
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
