import {
  type FrameworkFunction,
  type FrameworkRoute,
  noteRegistration,
  report,
} from '../../kernel/contracts/functions.ts'
import { type ChannelListeners, listenTo, subscribeChannels } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { mountedAt, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * Express 5 publishes the calls of its functions (router 2.3 and later). Its classes are changed
 * when the application loads them, also below another framework.
 */
export const express: Library = {
  name: 'express',
  reports: 'functions',
  seenBy: 'patch',
  from: '4',
  changes: {
    'lib/router/layer.js': layer => watchLayers(layer, 'handle_request', 'handle_error'),
    // A function, which has the methods of all routers.
    'lib/router/index.js': router => watchRouters(router),
    'router/lib/layer.js': layer => watchLayers(layer, 'handleRequest', 'handleError'),
    'router/index.js': router => watchRouters(Object(router).prototype),
  },
  readRoute: readExpressRoute,
  listen() {
    if (!isChanged) stopListening ??= subscribeChannels(expressListeners)
  },
}

/** Express 5 publishes the calls of its functions, with their errors (router 2.3 and later). */
const expressListeners: ChannelListeners = {
  // Where an error is answered outside of a router, the path of the router is not known any more.
  'tracing:express.router.request:start': listenTo<ExpressCall>(({ errorHandler, handler, layer, req }) => {
    report(req, work => {
      const route = readExpressRoute(req)
      if (route !== undefined) work.noteRoute(route)
      if (handler !== undefined) work.begin(readCall(req, layer, handler, errorHandler === true))
    })
  }),
  'tracing:express.router.request:error': listenTo<ExpressCall>(({ error, req }) => {
    report(req, work => work.fail(error))
  }),
}

/**
 * Reads the route that Express 4 and 5 keep on the message while its functions run, also below
 * Nest; `undefined` for another framework, or without a route. The message is that of Node.
 */
function readExpressRoute(message: object): FrameworkRoute | undefined {
  const { params, route } = message as ExpressMessage
  if (route === null || typeof route !== 'object') return undefined
  if (route.path === undefined) return undefined
  const handler = nameOf(findHandler(message)?.handle)
  const pattern = String(route.path)
  const base = readBase(message)
  // Below a path, the root of a router has no slash of its own.
  return {
    key: route,
    pattern: base + (pattern === '/' && base !== '' ? '' : pattern),
    parameters: params,
    handler,
  }
}

/**
 * The handler of a route is its last function for the method of the message; without any, its last one for all methods.
 * `app.all()` adds its functions once for each method, `route.all()` without one.
 */
function findHandler({ method = '', route }: ExpressMessage): RouteLayer | undefined {
  // Express answers HEAD as GET where nothing is for HEAD.
  const own = method === 'HEAD' && route?.methods?.head !== true ? 'get' : method.toLowerCase()
  let handler: RouteLayer | undefined
  for (const layer of route?.stack ?? []) {
    const isForAll = layer.method === undefined
    if (layer.method === own || (isForAll && handler?.method === undefined)) handler = layer
  }
  return handler
}

/** A call of a function of Express. */
function readCall(message: object, layer: object | undefined, code: object, isForError: boolean): FrameworkFunction {
  const isHandler = layer !== undefined && findHandler(message) === layer
  return {
    phase: isForError ? 'error handler' : isHandler ? 'handler' : 'middleware',
    name: nameOf(code),
    code,
    parameters: (message as ExpressMessage).params,
  }
}

/** A layer of a route, with a function for a method, in small letters, or for all methods. */
interface RouteLayer {
  readonly method?: string | undefined
  readonly handle?: unknown
}

/** A message of Node, with what Express adds. A path may be a text, a pattern, or a list. */
interface ExpressMessage {
  readonly method?: string
  readonly params?: unknown
  readonly route?: {
    readonly path?: unknown
    readonly methods?: { readonly head?: unknown }
    readonly stack?: readonly RouteLayer[]
  } | null
}

interface ExpressCall {
  readonly req: object
  readonly error?: unknown
  readonly layer?: object
  readonly handler?: object
  /** Whether the function is called with an error. */
  readonly errorHandler?: boolean
}

/**
 * Stops to listen to the channels of Express: with a listener, each call would have five frames of
 * them in the stacks of errors.
 */
let stopListening: (() => void) | undefined

/** Whether the classes of Express are changed. */
let isChanged = false

interface ExpressLayer {
  readonly handle: AnyFunction
  /** Only of the layer that calls the functions of a route. */
  readonly route?: unknown
}

function watchLayers(layer: unknown, request: string, error: string): void {
  const { prototype } = Object(layer)
  if (typeof prototype?.[request] !== 'function' || typeof prototype[error] !== 'function') return
  isChanged = true
  stopListening?.()
  // A layer is created while its function is registered.
  Object.defineProperty(prototype, 'handle', {
    configurable: true,
    set: function setHandle(this: object, value: unknown) {
      if (typeof value === 'function') noteRegistration(value, setHandle)
      Object.defineProperty(this, 'handle', { value, writable: true, enumerable: true, configurable: true })
    },
  })
  const named = { [request]: prototype[request] }
  observeMethod(prototype, request, (self, [message]) => {
    const { handle, route } = self as ExpressLayer
    return !route && handle.length <= 3 ? noteCall(message as object, self as ExpressLayer, false) : undefined
  })
  observeMethod(prototype, error, (self, [given, message]) => {
    noteError(message as object, given)
    return (self as ExpressLayer).handle.length === 4
      ? noteCall(message as object, self as ExpressLayer, true)
      : undefined
  })
  // Stacks have `Layer.handle [as handle_request]`: V8 looks for the name of the property that has the function.
  Object.setPrototypeOf(prototype, named)
}

function noteCall(message: object, layer: ExpressLayer, isForError: boolean) {
  return report(message, work => {
    const route = readExpressRoute(message)
    if (route !== undefined) work.noteRoute(route)
    noteMount(message, layer)
    const called = readCall(message, layer, layer.handle, isForError)
    work.begin(called, true)
    return { after: () => void work.leave(called) }
  })
}

/** A function passes an error to the next function for errors; `route` and `router` are no errors. */
function noteError(message: object, given: unknown): void {
  if (!given || given === 'route' || given === 'router') return
  report(message, work => work.fail(given))
}

/** The routers that have functions below paths. */
const mountingRouters = new WeakSet<object>()

/** The path below which a function was added, such as `/teams/:team`, and its router, by its layer. */
const mounts = new WeakMap<object, { readonly path: string; readonly router: object }>()

/**
 * The patterns of a message: of the path around each router that it has come to, and of each path
 * below which functions were called.
 */
const mountPatterns = new WeakMap<object, Map<object | string, string>>()

/** The pattern of the path below which a message is now. Express keeps only the path itself. */
function readBase(message: object): string {
  const base = mountedAt(message)
  return mountPatterns.get(message)?.get(base) ?? base
}

/** A router has got a message. */
function noteRouter(message: object, router: object): void {
  if (!mountingRouters.has(router)) return
  const patterns = mountPatterns.get(message) ?? new Map<object | string, string>()
  mountPatterns.set(message, patterns.set(router, readBase(message)))
}

/** Express calls a function below a path. */
function noteMount(message: object, layer: object): void {
  const mount = mounts.get(layer)
  const patterns = mountPatterns.get(message)
  if (mount !== undefined) patterns?.set(mountedAt(message), (patterns.get(mount.router) ?? '') + mount.path)
}

/** Functions are added below paths. A router passes an error on which no function of it has answered. */
function watchRouters(router: unknown): void {
  observeMethod(Object(router), 'use', (self, [path]) => {
    const { stack } = self as { readonly stack: readonly object[] }
    // Of a list, and of a pattern of JavaScript, the path of the request is shown.
    if (typeof path !== 'string' || !/^\/./.test(path)) return undefined
    const { length } = stack
    return {
      after() {
        mountingRouters.add(self as object)
        for (const layer of stack.slice(length))
          mounts.set(layer, { path: path.replace(/\/$/, ''), router: self as object })
      },
    }
  })
  observeMethod(Object(router), 'handle', (self, args) => {
    const [message, , out] = args
    noteRouter(message as object, self as object)
    if (typeof out === 'function')
      args[2] = observeCalls(out as AnyFunction, (_, [given]) => void noteError(message as object, given))
  })
}
