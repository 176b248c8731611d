import path from 'node:path'
import type { AnyFunction } from '../../../kernel/libraries/publish.ts'
import { type FrameworkFunction, noteRegistration } from '../record/middleware-trace.ts'
import { callAround, loadPrototype, nameOf, report, wrapFunction, wrapMethod } from './framework-calls.ts'

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

/** All applications pass their functions to the method `add` of a router, each of which is a file without many imports. */
export async function openHono(folder: string): Promise<void> {
  for (const kind of ['dist', 'dist/cjs']) {
    for (const [name, file] of [
      ['SmartRouter', 'smart-router'],
      ['PatternRouter', 'pattern-router'],
    ] as const) {
      const place = path.join(folder, kind, 'router', file, 'router.js')
      const router = (await loadPrototype(place, name)) as { add: AnyFunction } | undefined
      wrapMethod(router, 'add', (add, self, args) => {
        const [method, pattern, entry] = args
        if (!Array.isArray(entry) || typeof entry[0] !== 'function') return Reflect.apply(add, self, args)
        const [code, route, ...rest] = entry
        noteRegistration(innerOf(code), (router as { add: AnyFunction }).add)
        return Reflect.apply(add, self, [method, pattern, [watchHono(code, route as HonoRoute), route, ...rest]])
      })
    }
  }
}

function innerOf(code: HonoFunction): AnyFunction {
  return code.__COMPOSED_HANDLER ?? code
}

function watchHono(code: HonoFunction, { method, path: pattern }: HonoRoute): AnyFunction {
  const inner = innerOf(code)
  const name = nameOf(inner)
  // A handler cannot call the functions behind it: it does not get `next`.
  const isHandler = inner.length < 2
  const called: FrameworkFunction = { phase: isHandler ? 'handler' : 'middleware', name, code: inner }
  return wrapFunction(code, (call, self, args) => {
    const context = args[0] as HonoContext
    // Where it is mounted by its `fetch`, there is no message of Node.
    const message = context.env?.incoming ?? context.req.raw
    if (isHandler || method !== 'ALL') {
      report(({ onRoute }) =>
        onRoute(message, { key: context, pattern, parameters: context.req.param(), handler: isHandler ? name : '' }),
      )
    }
    // An application in another one has answered its errors itself.
    return callAround(message, called, [call, self, args], () => context.error)
  })
}
