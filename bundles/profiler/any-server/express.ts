import { existsSync } from 'node:fs'
import path from 'node:path'
import type { AnyFunction } from '../../../kernel/libraries/publish.ts'
import { type ChannelListeners, listenTo } from '../../../lib/channels.ts'
import { findPackage } from '../../../lib/find-package.ts'
import { type FrameworkFunction, type FrameworkRoute, noteRegistration } from '../record/middleware-trace.ts'
import { loadPrototype, nameOf, report, wrapFunction, wrapMethod } from './framework-calls.ts'

/** Express 5 publishes the calls of its functions, with their errors (router 2.3 and later). */
export const expressListeners: ChannelListeners = {
  // Where an error is answered outside of a router, the path of the router is not known any more.
  'tracing:express.router.request:start': listenTo<ExpressCall>(({ errorHandler, handler, layer, req }) => {
    const route = readExpressRoute(req)
    report(({ onCall, onRoute }) => {
      if (route !== undefined) onRoute(req, route)
      if (handler !== undefined) onCall(req, readCall(req, layer, handler, errorHandler === true))
    })
  }),
  'tracing:express.router.request:error': listenTo<ExpressCall>(({ error, req }) => {
    report(({ onError }) => onError(req, error))
  }),
}

/**
 * Reads the route that Express 4 and 5 keep on the message while its functions run, also below Nest; `undefined` for another
 * framework, or without a route. The message is that of Node.
 */
export function readExpressRoute(message: object): FrameworkRoute | undefined {
  const { baseUrl = '', params, route } = message as ExpressMessage
  if (route === null || typeof route !== 'object' || typeof baseUrl !== 'string') return undefined
  const { path, stack } = route
  if (path === undefined) return undefined
  const handler = Array.isArray(stack)
    ? nameOf((stack.at(-1) as { readonly handle?: unknown } | undefined)?.handle)
    : ''
  return { key: route, pattern: `${baseUrl}${String(path)}`, parameters: params, handler }
}

/** A call of a function of Express. The last function of a route is its handler. */
function readCall(message: object, layer: object | undefined, code: object, isForError: boolean): FrameworkFunction {
  const { params, route } = message as ExpressMessage
  const isHandler = layer !== undefined && Array.isArray(route?.stack) && route.stack.at(-1) === layer
  return {
    phase: isForError ? 'error handler' : isHandler ? 'handler' : 'middleware',
    name: nameOf(code),
    code,
    parameters: params,
  }
}

/** A message of Node, with what Express adds. A path may be a text, a pattern, or a list. */
interface ExpressMessage {
  readonly baseUrl?: unknown
  readonly params?: unknown
  readonly route?: { readonly path?: unknown; readonly stack?: unknown } | null
}

interface ExpressCall {
  readonly req: object
  readonly error?: unknown
  readonly layer?: object
  readonly handler?: object
  /** Whether the function is called with an error. */
  readonly errorHandler?: boolean
}

/** The class of its layers has few imports: in Express 4 it is in the package itself, in Express 5 in its package `router`. */
export async function openExpress(folder: string): Promise<void> {
  const own = await loadPrototype(path.join(folder, 'lib/router/layer.js'))
  if (own !== undefined) {
    watchRegistration(own)
    watchLayers(own, 'handle_request', 'handle_error')
    return
  }
  const router = findPackage(folder, 'router')
  if (router === undefined) return
  const layers = await loadPrototype(path.join(router, 'lib/layer.js'))
  if (layers === undefined) return
  watchRegistration(layers)
  // Since router 2.3, channels have the calls.
  if (!existsSync(path.join(router, 'lib/tracing.js'))) watchLayers(layers, 'handleRequest', 'handleError')
}

/** A layer is created while its function is registered. */
function watchRegistration(layers: object): void {
  Object.defineProperty(layers, 'handle', {
    configurable: true,
    set: function setHandle(this: object, value: unknown) {
      if (typeof value === 'function') noteRegistration(value, setHandle)
      Object.defineProperty(this, 'handle', { value, writable: true, enumerable: true, configurable: true })
    },
  })
}

interface ExpressLayer {
  readonly handle: AnyFunction
  /** Only of the layer that calls the functions of a route. */
  readonly route?: unknown
}

function watchLayers(layers: object, request: string, error: string): void {
  const watchErrors = (message: object, next: unknown, known?: unknown): unknown =>
    typeof next !== 'function'
      ? next
      : wrapFunction(next as AnyFunction, (goOn, self, args) => {
          const [given] = args
          const isError = given && given !== 'route' && given !== 'router' && given !== known
          if (isError) report(({ onError }) => onError(message, given))
          return Reflect.apply(goOn, self, args)
        })
  wrapMethod(layers, request, (call, self, args) => {
    const layer = self as ExpressLayer
    if (layer.route || layer.handle.length > 3) return Reflect.apply(call, self, args)
    const [message, reply, next] = args
    const of = message as object
    report(({ onCall, onRoute }) => {
      const route = readExpressRoute(of)
      if (route !== undefined) onRoute(of, route)
      onCall(of, readCall(of, layer, layer.handle, false))
    })
    return Reflect.apply(call, self, [of, reply, watchErrors(of, next)])
  })
  wrapMethod(layers, error, (call, self, args) => {
    const layer = self as ExpressLayer
    if (layer.handle.length !== 4) return Reflect.apply(call, self, args)
    const [given, message, reply, next] = args
    const of = message as object
    report(({ onCall }) => onCall(of, readCall(of, layer, layer.handle, true)))
    return Reflect.apply(call, self, [given, of, reply, watchErrors(of, next, given)])
  })
}
