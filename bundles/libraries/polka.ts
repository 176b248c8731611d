import path from 'node:path'
import { noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, loadExport, mountOf, nameOf, noteFunctions } from './framework-calls.ts'
import type { Library } from './library.ts'

/** The class of its applications is that of any application. What a function throws, it does not catch. */
export const polka: Library = {
  name: 'polka',
  reports: 'functions',
  seenBy: 'patch',
  changes: { 'polka/index.js': watchClass, 'polka/build.js': watchClass },
  opens: { polka: async folder => watchClass(await loadExport(path.join(folder, 'build.mjs'))) },
}

const classes = new WeakSet<object>()

const applications = new WeakSet<object>()

function watchClass(create: unknown): void {
  if (typeof create !== 'function') return
  const prototype = Object.getPrototypeOf(create({}))
  if (classes.has(prototype)) return
  classes.add(prototype)
  observeMethod(prototype, 'add', function add(_, args) {
    const [method, pattern, ...codes] = args
    const functions = codes.flat()
    noteFunctions(functions, add)
    const last = functions.at(-1)
    const watched = functions.map(code => watchFunction(code, code === last ? 'handler' : 'middleware', pattern, last))
    args.splice(0, args.length, method, pattern, ...watched)
  })
  observeMethod(prototype, 'use', function use(_, args) {
    for (const [index, code] of args.entries()) {
      if (typeof code !== 'function') continue
      noteRegistration(code, use)
      args[index] = watchFunction(code, 'middleware')
    }
  })
  observeMethod(prototype, 'handler', application => {
    if (applications.has(Object(application))) return
    applications.add(Object(application))
    observeMethod(Object(application), 'onError', (_, [error, request]) => {
      report(Object(request), work => work.fail(error))
    })
  })
}

function watchFunction(code: unknown, phase: string, pattern?: unknown, handler?: unknown): unknown {
  if (typeof code !== 'function') return code
  return observeCalls(code as AnyFunction, (_, [given]) => {
    const request = given as { readonly originalUrl?: string; readonly path?: string; readonly params?: unknown }
    return followHandler(Object(request), { phase, name: nameOf(code), code }, work => {
      if (typeof pattern === 'string')
        work.noteRoute({
          key: Object(handler),
          pattern: mountOf(request.originalUrl, request.path) + lead(pattern),
          parameters: request.params,
          handler: nameOf(handler),
        })
    })
  })
}

function lead(pattern: string): string {
  return pattern.startsWith('/') ? pattern : `/${pattern}`
}
