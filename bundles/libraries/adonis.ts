import path from 'node:path'
import { report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype, mountedAt, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * The class of its servers makes the context of each request; that of error handlers gets the
 * errors. The channels of version 8 would have frames in the stacks of errors.
 */
export const adonis: Library = {
  name: '@adonisjs/http-server',
  reports: 'functions',
  seenBy: 'patch',
  from: '7',
  notSeen: 'functions',
  opens: { '@adonisjs/http-server': openAdonis },
}

interface AdonisContext {
  readonly request: { readonly request: object }
  readonly route?: { readonly pattern: string; readonly handler?: { readonly name?: unknown } }
  readonly params?: unknown
}

async function openAdonis(folder: string): Promise<void> {
  const file = path.join(folder, 'build/index.js')
  const contexts = new WeakMap<object, AdonisContext>()
  const server = await loadPrototype(file, 'Server')
  observeMethod(server, 'createHttpContext', () => ({
    after(context) {
      const { request } = context as AdonisContext
      contexts.set(request.request, context as AdonisContext)
      return context
    },
  }))
  observeMethod(server, 'handle', (_, [message]) => ({
    after: result =>
      (result as Promise<unknown>).then(value => {
        noteRoute(contexts.get(Object(message)))
        return value
      }),
  }))
  observeMethod(await loadPrototype(file, 'ExceptionHandler'), 'report', (_, [error, context]) => {
    const { request, route } = context as AdonisContext
    noteRoute(context as AdonisContext)
    // Without a route, the framework itself refuses the request.
    if (route !== undefined) report(request.request, work => work.fail(error))
    return undefined
  })
}

function noteRoute(context: AdonisContext | undefined): void {
  if (context?.route === undefined) return
  const { params: parameters, request, route } = context
  const { handler, pattern } = route
  const message = request.request
  const name = nameOf(handler) || (typeof handler?.name === 'string' ? handler.name : '')
  report(message, work =>
    work.noteRoute({ key: route, pattern: mountedAt(message) + pattern, parameters, handler: name }),
  )
}
