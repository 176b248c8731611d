import { listenTo, subscribeChannels } from '../../../lib/channels.ts'

/** The route of a request, as its framework knows it. */
export interface FrameworkRoute {
  /** The same object for all calls of its functions. */
  readonly key: object
  /** Such as `/users/:id`. */
  readonly pattern: string
  readonly parameters: unknown
  /** The name of its function; empty for one without a name. */
  readonly handler: string
}

/** What receives the facts that frameworks publish of a request. The request is its message of Node. */
interface FrameworkListener {
  onRoute(message: object, route: FrameworkRoute): void
  /** An error that the framework answers itself. */
  onError(message: object, error: unknown): void
}

/**
 * Listens to the channels of frameworks, until the returned function is called. Express 5 publishes the calls of its
 * functions, with their errors (router 2.3 and later). Fastify 4 and 5 publish each new application, which then gets two hooks.
 */
export function watchFrameworks({ onError, onRoute }: FrameworkListener): () => void {
  return subscribeChannels({
    // Where an error is answered outside of a router, the path of the router is not known any more.
    'tracing:express.router.request:start': listenTo<ExpressCall>(({ req }) => {
      const route = readExpressRoute(req)
      if (route !== undefined) onRoute(req, route)
    }),
    'tracing:express.router.request:error': listenTo<ExpressCall>(({ error, req }) => onError(req, error)),
    'fastify.initialization': listenTo<FastifyCreation>(({ fastify }) => {
      fastify.addHook('onRequest', (request, _reply, done) => {
        const { params, raw, routeOptions } = request as FastifyRequest
        const { handler, url } = routeOptions ?? {}
        if (url !== undefined) onRoute(raw, { key: raw, pattern: url, parameters: params, handler: nameOf(handler) })
        ;(done as () => void)()
      })
      fastify.addHook('onError', (request, _reply, error, done) => {
        onError((request as FastifyRequest).raw, error)
        ;(done as () => void)()
      })
    }),
  })
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

function nameOf(handler: unknown): string {
  return typeof handler === 'function' ? handler.name.replace(/^(?:bound )+/, '') : ''
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
}

interface FastifyCreation {
  readonly fastify: { addHook(name: string, hook: (...values: unknown[]) => void): void }
}

interface FastifyRequest {
  readonly raw: object
  readonly params: unknown
  readonly routeOptions?: { readonly url?: string; readonly handler?: unknown }
}
