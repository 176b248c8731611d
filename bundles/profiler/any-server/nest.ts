import { AsyncLocalStorage } from 'node:async_hooks'
import path from 'node:path'
import type { AnyFunction } from '../../../kernel/libraries/publish.ts'
import { type FrameworkFunction, noteRegistration } from '../record/middleware-trace.ts'
import { loadExport, loadPrototype, nameOf, report, wrapFunction, wrapMethod } from './framework-calls.ts'

interface NestFunction {
  readonly constructor: AnyFunction
  readonly [method: string]: unknown
}

/** Nest 12 has ES modules, and earlier versions CommonJS; the application imports all of them. */
export async function openNest(folder: string): Promise<void> {
  // As the application does: it loads `reflect-metadata`, without which the other files fail, then also for the application.
  await loadExport(path.join(folder, 'index.js'))
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
    return Reflect.apply(activate, self, [watchAll(guards, 'guard', 'canActivate', message), ...given.slice(1)])
  })
  const handlers = new Handlers()
  handlers.watchPipes(
    await find('router/router-execution-context.js', 'RouterExecutionContext'),
    await find('pipes/pipes-consumer.js', 'PipesConsumer'),
  )
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
        ? watchAll(interceptors, 'interceptor', 'intercept', message)
        : interceptors
      const handle = wrapFunction(next as AnyFunction, (call, of, values) => {
        handlers.begin(message, called)
        return Reflect.apply(call, of, values)
      })
      return Reflect.apply(intercept, self, [watched, args, instance, callback, handle, type])
    },
  )
  watchDecorators()
}

/**
 * The handlers of routes. The pipes of a handler run before it, in a function that gets the message. They themselves do not get it.
 */
class Handlers {
  /** Those with pipes or other parameters. */
  readonly #withParameters = new WeakSet<object>()
  /** The handler of a message, while its pipes run. */
  readonly #waiting = new AsyncLocalStorage<{ readonly message: object }>()
  readonly #called = new WeakMap<object, FrameworkFunction>()
  /** Whether the handler that is prepared now has parameters. */
  #hasParameters = false

  /** The function that calls a handler begins. */
  begin(message: object, called: FrameworkFunction): void {
    if (this.#withParameters.has(called.code)) this.#called.set(message, called)
    else report(({ onCall }) => onCall(message, called))
  }

  watchPipes(context: object | undefined, consumer: object | undefined): void {
    wrapMethod(context, 'create', (create, self, args) => {
      this.#hasParameters = false
      const created = Reflect.apply(create, self, args)
      const [, callback] = args
      if (this.#hasParameters && typeof callback === 'function') this.#withParameters.add(callback)
      return created
    })
    wrapMethod(context, 'createPipesFn', (create, self, args) => {
      const apply = Reflect.apply(create, self, args)
      if (typeof apply !== 'function') return apply
      this.#hasParameters = true
      return wrapFunction(apply as AnyFunction, (code, of, values) => {
        const message = messageOf(values.slice(1))
        if (message === undefined) return Reflect.apply(code, of, values)
        return this.#waiting.run({ message }, () => this.#apply(message, Reflect.apply(code, of, values)))
      })
    })
    wrapMethod(consumer, 'applyPipes', (apply, self, args) => {
      const { message } = this.#waiting.getStore() ?? {}
      const [value, metadata, pipes] = args
      if (message === undefined || !Array.isArray(pipes)) return Reflect.apply(apply, self, args)
      return Reflect.apply(apply, self, [value, metadata, watchAll(pipes, 'pipe', 'transform', message)])
    })
  }

  /** The handler is called when its pipes are done. */
  async #apply(message: object, pipes: unknown): Promise<void> {
    await pipes
    const called = this.#called.get(message)
    if (called !== undefined) report(({ onCall }) => onCall(message, called))
  }
}

/** The decorators of Nest call this function of reflect-metadata with the class or method that they decorate: it is where they are. */
function watchDecorators(): void {
  wrapMethod(Reflect, 'defineMetadata', function define(original, self, args) {
    const [, , target, property] = args
    if (typeof target === 'function' && property === undefined) noteRegistration(target, define)
    return Reflect.apply(original, self, args)
  })
}

/** The message of Node: that of Express is the same object. */
function messageOf(args: unknown): object | undefined {
  const [request] = Array.isArray(args) ? args : []
  if (typeof request !== 'object' || request === null) return undefined
  return (request as { readonly raw?: object }).raw ?? request
}

/** Guards, interceptors or pipes whose method reports its call. */
function watchAll(all: readonly NestFunction[], phase: string, method: string, message: object): unknown[] {
  return all.map(one => {
    const called: FrameworkFunction = { phase, name: one.constructor.name, code: one.constructor }
    return {
      [method]: (...args: unknown[]) => {
        report(({ onCall }) => onCall(message, called))
        return (one[method] as AnyFunction).apply(one, args)
      },
    }
  })
}
