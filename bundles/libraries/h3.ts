import path from 'node:path'
import { type FrameworkFunction, noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followCall, loadExport, mountedAt, nameOf, withoutWrapper } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * Version 2 has a class of applications. Version 1 has functions only: its events are read when
 * their responses are sent.
 */
export const h3: Library = {
  name: 'h3',
  reports: 'functions',
  seenBy: 'patch',
  notSeen: 'of version 1: functions; errors on Node 20, or of CommonJS',
  beside: 'class H3Event',
  declares: { sendError: code => observeCalls(code, (_, [event, error]) => reportError(error, event)) },
  changes: { 'h3/dist/index.cjs': exports => watchEvents(Object(exports).H3Event) },
  opens: {
    async h3(folder) {
      watchEvents(await loadExport(path.join(folder, 'dist/index.mjs'), 'H3Event'))
      watchApplications(await loadExport(path.join(folder, 'dist/_entries/node.mjs'), 'H3'))
    },
  },
}

/** Its builds have h3 in a file of their own, with the function that answers errors. */
export const nitro: Library = {
  name: 'nitropack',
  reports: 'functions',
  seenBy: 'patch',
  node: '22.15',
  notSeen: 'functions; `nitro dev`, which answers in a worker thread',
  beside: 'class H3Event',
  declares: {
    H3Event(event) {
      watchEvents(event)
      return undefined
    },
    errorHandler: code => observeCalls(code, (_, [error, event]) => reportError(error, event)),
  },
}

interface H3Route {
  readonly route?: string
  readonly path?: string
  handler?: unknown
  middleware?: unknown[] | undefined
}

/** An event of version 1 or 2. */
interface H3Event {
  readonly node?: { readonly req: object }
  readonly req?: { readonly runtime?: { readonly node?: { readonly req: object } } }
  readonly context: { readonly matchedRoute?: H3Route; readonly params?: unknown }
}

/** Reports an error of version 1 that is answered. */
function reportError(error: unknown, given: unknown): undefined {
  const event = given as H3Event
  const { statusCode } = Object(error)
  report(messageOf(event), work => {
    // Without a route, the framework itself refuses the request.
    if (statusCode < 500 && (work.route?.pattern ?? patternOf(event) ?? everything) === everything) return
    noteRoute(event, '')
    work.fail(withoutWrapper(error))
  })
}

/** The route of Nuxt for all pages. */
const everything = '/**'

/** Each event is asked whether its response was sent. */
function watchEvents(event: unknown): void {
  const { prototype } = Object(event)
  const handled = prototype && Object.getOwnPropertyDescriptor(prototype, 'handled')
  if (typeof handled?.get !== 'function') return
  const get = observeCalls(handled.get, self => void noteRoute(self as H3Event, ''))
  Object.defineProperty(prototype, 'handled', { ...handled, get })
}

function watchApplications(application: unknown): void {
  const { prototype } = Object(application)
  observeMethod(prototype, '~addRoute', function addRoute(_, [given]) {
    const route = given as H3Route
    route.handler = watchFunction(route.handler, 'handler', addRoute)
    route.middleware = route.middleware?.map(code => watchFunction(code, 'middleware', addRoute))
  })
  observeMethod(prototype, 'use', function use(_, args) {
    for (const [index, code] of args.entries()) args[index] = watchFunction(code, 'middleware', use)
  })
}

const watched = new WeakSet<object>()

function watchFunction(code: unknown, phase: string, below: (...values: never[]) => unknown): unknown {
  // A mounted application has watched its functions.
  if (typeof code !== 'function' || watched.has(code)) return code
  noteRegistration(code, below)
  const name = nameOf(code)
  const called: FrameworkFunction = { phase, name, code }
  const wrapped = observeCalls(code as AnyFunction, (_, args) => {
    const event = args[0] as H3Event
    noteRoute(event, phase === 'handler' ? name : nameOf(event.context.matchedRoute?.handler))
    return followCall(messageOf(event) ?? {}, called, args)
  })
  watched.add(wrapped)
  return wrapped
}

function messageOf({ node, req }: H3Event): object | undefined {
  return node?.req ?? req?.runtime?.node?.req
}

function patternOf({ context: { matchedRoute: route } }: H3Event): string | undefined {
  return route?.route ?? route?.path
}

function noteRoute(event: H3Event, handler: string): void {
  const { params: parameters } = event.context
  const pattern = patternOf(event)
  const message = messageOf(event)
  if (pattern === undefined || message === undefined) return
  report(message, work => {
    // Behind its route for all paths, Nuxt has routes of its own.
    if (work.route !== undefined && pattern === everything) return
    work.noteRoute({ key: message, pattern: mountedAt(message) + pattern, parameters, handler })
  })
}
