import path from 'node:path'
import { type FrameworkFunction, noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followCall, loadPrototype, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Each application passes its functions to a router. */
export const hono: Library = { name: 'hono', reports: 'functions', seenBy: 'patch', opens: { hono: openHono } }

interface HonoContext {
  readonly env?: { readonly incoming?: object }
  readonly error?: unknown
  readonly req: { readonly raw: object; param(): unknown }
}

interface HonoRoute {
  readonly path: string
  readonly method: string
}

/** A function of Hono; that of an application in another one leads to its own. */
type HonoFunction = AnyFunction & { readonly __COMPOSED_HANDLER?: AnyFunction }

/**
 * All applications pass their functions to the method `add` of a router, each of which is a file without many imports.
 */
async function openHono(folder: string): Promise<void> {
  for (const kind of ['dist', 'dist/cjs']) {
    for (const [name, file] of [
      ['SmartRouter', 'smart-router'],
      ['PatternRouter', 'pattern-router'],
    ] as const) {
      const place = path.join(folder, kind, 'router', file, 'router.js')
      observeMethod(await loadPrototype(place, name), 'add', function add(_, args) {
        const [, , entry] = args
        if (!Array.isArray(entry) || typeof entry[0] !== 'function') return
        const [code, route, ...rest] = entry
        noteRegistration(innerOf(code), add)
        args[2] = [watchHono(code, route as HonoRoute), route, ...rest]
      })
    }
  }
}

function innerOf(code: HonoFunction): AnyFunction {
  return code.__COMPOSED_HANDLER ?? code
}

function watchHono(code: HonoFunction, route: HonoRoute): AnyFunction {
  const { method, path: pattern } = route
  const inner = innerOf(code)
  const name = nameOf(inner)
  // A handler cannot call the functions behind it: it does not get `next`.
  const isHandler = inner.length < 2
  const called: FrameworkFunction = { phase: isHandler ? 'handler' : 'middleware', name, code: inner }
  return observeCalls(code, (_, args) => {
    const context = args[0] as HonoContext
    // Where it is mounted by its `fetch`, there is no message of Node.
    const message = context.env?.incoming ?? context.req.raw
    if (isHandler || method !== 'ALL') {
      report(message, work =>
        work.noteRoute({ key: route, pattern, parameters: context.req.param(), handler: isHandler ? name : '' }),
      )
    }
    // An application in another one has answered its errors itself.
    return followCall(message, called, args, () => context.error)
  })
}
