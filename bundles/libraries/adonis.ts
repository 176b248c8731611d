import path from 'node:path'
import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype, measureCall, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * The class of its routers finds the route of each request, with its function; that of error handlers
 * gets the errors. The channels of version 8 would have frames in the stacks of errors.
 */
export const adonis: Library = {
  name: '@adonisjs/http-server',
  reports: 'functions',
  seenBy: 'patch',
  from: '7',
  notSeen: 'functions other than methods of controllers',
  opens: { '@adonisjs/http-server': openAdonis },
}

interface AdonisRoute {
  readonly pattern: string
  /** A function, or a method of a controller. */
  readonly handler?: unknown
}

interface AdonisMatch {
  readonly params?: unknown
  readonly route: AdonisRoute
}

interface AdonisContext {
  readonly request: { readonly request: object }
  readonly route?: AdonisRoute
}

async function openAdonis(folder: string): Promise<void> {
  const file = path.join(folder, 'build/index.js')
  observeMethod(await loadPrototype(file, 'Router'), 'match', () => ({
    after(match) {
      if (match) noteRoute(match as AdonisMatch)
    },
  }))
  observeMethod(await loadPrototype(file, 'ExceptionHandler'), 'report', (_, [error, context]) => {
    const { request, route } = context as AdonisContext
    // Without a route, the framework itself refuses the request.
    if (route !== undefined) report(request.request, work => work.fail(error))
  })
}

/** The routes whose controllers are observed. That of a function would be another one in the stacks of its errors. */
const watched = new WeakSet<object>()

function noteRoute({ params: parameters, route }: AdonisMatch): void {
  const handler = describe(route.handler)
  report(currentMessage, work => work.noteRoute({ key: route, pattern: route.pattern, parameters, handler }))
  if (typeof route.handler === 'function' || watched.has(route)) return
  watched.add(route)
  observeMethod(Object(route.handler), 'handle', () => measureCall('handler', handler, () => undefined))
}

/** The name of a method that is imported lazily is that of its controller. */
function describe(handler: unknown): string {
  if (typeof handler === 'function') return nameOf(handler)
  const { name = '', reference } = Object(handler)
  const [, method] = Array.isArray(reference) ? reference : []
  return method === undefined || name.includes('.') ? String(name) : `${name}.${method}`
}
