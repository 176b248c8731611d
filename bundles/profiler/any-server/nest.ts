import path from 'node:path'
import type { AnyFunction } from '../../../kernel/libraries/publish.ts'
import type { FrameworkFunction } from '../record/middleware-trace.ts'
import { loadPrototype, nameOf, report, wrapFunction, wrapMethod } from './framework-calls.ts'

interface NestFunction {
  readonly constructor: { readonly name: string }
  readonly [method: string]: unknown
}

/** Nest 12 has ES modules, and earlier versions CommonJS; the application imports all of them. */
export async function openNest(folder: string): Promise<void> {
  const find = (file: string, name: string) => loadPrototype(path.join(folder, file), name)
  wrapMethod(await find('exceptions/exceptions-handler.js', 'ExceptionsHandler'), 'next', (answer, self, args) => {
    const [error, host] = args
    const message = messageOf((host as { getArgs?(): unknown }).getArgs?.())
    if (message !== undefined) report(({ onError }) => onError(message, error))
    return Reflect.apply(answer, self, args)
  })
  wrapMethod(await find('guards/guards-consumer.js', 'GuardsConsumer'), 'tryActivate', (activate, self, given) => {
    const [guards, args, , , type] = given
    const message = messageOf(args)
    if (message === undefined || !Array.isArray(guards) || type !== 'http') return Reflect.apply(activate, self, given)
    const watched = guards.map(guard => watchNest(guard, 'guard', 'canActivate', message))
    return Reflect.apply(activate, self, [watched, ...given.slice(1)])
  })
  wrapMethod(
    await find('interceptors/interceptors-consumer.js', 'InterceptorsConsumer'),
    'intercept',
    (intercept, self, given) => {
      const [interceptors, args, instance, callback, next, type] = given
      const message = messageOf(args)
      if (message === undefined || typeof next !== 'function' || type !== 'http')
        return Reflect.apply(intercept, self, given)
      const name = `${(instance as NestFunction).constructor.name}.${nameOf(callback)}`
      const called: FrameworkFunction = { phase: 'handler', name, code: callback as object }
      report(({ onHandler }) => onHandler(message, name))
      const watched = Array.isArray(interceptors)
        ? interceptors.map(each => watchNest(each, 'interceptor', 'intercept', message))
        : interceptors
      const handle = wrapFunction(next as AnyFunction, (call, of, values) => {
        report(({ onCall }) => onCall(message, called))
        return Reflect.apply(call, of, values)
      })
      return Reflect.apply(intercept, self, [watched, args, instance, callback, handle, type])
    },
  )
}

/** The message of Node: that of Express is the same object. */
function messageOf(args: unknown): object | undefined {
  const [request] = Array.isArray(args) ? args : []
  if (typeof request !== 'object' || request === null) return undefined
  return (request as { readonly raw?: object }).raw ?? request
}

/** A guard or an interceptor whose method reports its call. */
function watchNest(one: NestFunction, phase: string, method: string, message: object): unknown {
  const called: FrameworkFunction = { phase, name: one.constructor.name, code: one }
  return {
    [method]: (...args: unknown[]) => {
      report(({ onCall }) => onCall(message, called))
      return (one[method] as AnyFunction).apply(one, args)
    },
  }
}
