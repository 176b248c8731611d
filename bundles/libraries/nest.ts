import { AsyncLocalStorage } from 'node:async_hooks'
import path from 'node:path'
import { type FrameworkFunction, noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { loggedLines } from '../../kernel/contracts/process-calls.ts'
import { endWith, failMessage, followUnit, takeUnit } from '../../kernel/contracts/units.ts'
import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, loadExport, loadPrototype, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'
import { toChannel, toError, toLine, toLogLevel } from './printed-lines.ts'

/**
 * Guards, interceptors, pipes and handlers of requests; its middleware is that of Express or Fastify. The messages of a
 * gateway are those of ws or Socket.IO, with the end and the error of its handler. So are those of a microservice by
 * MQTT, RabbitMQ or Kafka; by TCP, Redis and NATS, the call of its handler is the message.
 */
export const nest: Library = {
  name: '@nestjs/core',
  reports: 'functions',
  seenBy: 'patch',
  notSeen: 'errors of observables that a handler of messages returns, and what these do',
  opens: { '@nestjs/core': openNest, '@nestjs/websockets': openGateways, '@nestjs/microservices': openMicroservices },
}

/** Lines of the `Logger` of Nest, if no other one has replaced it. */
export const nestLogger: Library = {
  name: '@nestjs/common',
  reports: 'logs',
  seenBy: 'patch',
  notSeen:
    'lines of a `ConsoleLogger` with its own `formatMessage`, `stringifyMessage`, `printAsJson` or `getJsonLogObject`; with `forceConsole` they are calls of the console; before version 11, the stacks of errors',
  opens: { '@nestjs/common': openLogger },
}

interface NestFunction {
  readonly constructor: AnyFunction
  readonly [method: string]: unknown
}

/** Nest 12 has ES modules, and earlier versions CommonJS; the application imports all of them. */
async function openNest(folder: string): Promise<void> {
  // As the application does: it loads `reflect-metadata`, without which the other files fail, then
  // also for the application.
  await loadExport(path.join(folder, 'index.js'))
  const find = (file: string, name: string) => loadPrototype(path.join(folder, file), name)
  observeMethod(await find('exceptions/exceptions-handler.js', 'ExceptionsHandler'), 'next', (_, [error, host]) => {
    const message = messageOf((host as { getArgs?(): unknown }).getArgs?.())
    if (message !== undefined) report(message, work => work.fail(error))
  })
  observeMethod(await find('guards/guards-consumer.js', 'GuardsConsumer'), 'tryActivate', (_, given) => {
    const [guards, args, , , type] = given
    const message = messageOf(args)
    if (message !== undefined && Array.isArray(guards) && type === 'http')
      given[0] = watchAll(guards, 'guard', 'canActivate', message)
  })
  const handlers = new Handlers()
  handlers.watchPipes(
    await find('router/router-execution-context.js', 'RouterExecutionContext'),
    await find('pipes/pipes-consumer.js', 'PipesConsumer'),
  )
  observeMethod(
    await find('interceptors/interceptors-consumer.js', 'InterceptorsConsumer'),
    'intercept',
    (_, given) => {
      const [interceptors, args, instance, callback, next, type] = given
      const message = messageOf(args)
      if (message === undefined || typeof next !== 'function' || type !== 'http') return
      const name = `${(instance as NestFunction).constructor.name}.${nameOf(callback)}`
      const called: FrameworkFunction = { phase: 'handler', name, code: callback as object }
      report(message, work => {
        work.handler = name
      })
      if (Array.isArray(interceptors))
        given[0] = watchAll(interceptors, 'interceptor', 'intercept', message, followInterceptor)
      given[4] = observeCalls(next as AnyFunction, () => handlers.begin(message, called))
    },
  )
  watchDecorators()
}

/** Each of these may hide a part of a line. */
const formatters = ['formatMessage', 'stringifyMessage', 'printAsJson', 'getJsonLogObject']

async function openLogger(folder: string): Promise<void> {
  await loadExport(path.join(folder, 'index.js'))
  const prototype = await loadPrototype(path.join(folder, 'services/console-logger.service.js'), 'ConsoleLogger')
  observeMethod(prototype, 'printMessages', (self, [messages, context, level = 'log', , stack]) => {
    const { options } = self as { readonly options?: { readonly forceConsole?: unknown } }
    const isChanged = formatters.some(name => Reflect.get(Object(self), name) !== Reflect.get(Object(prototype), name))
    if (isChanged || options?.forceConsole === true) return
    for (const message of messages as readonly unknown[]) {
      loggedLines.pass(toLogLevel(level), () => {
        const line = toLine([message])
        const exception = typeof stack === 'string' ? { exception: toError({ stack }) } : {}
        return { channel: toChannel('nest', context), ...line, context: { ...line.context, ...exception } }
      })
    }
  })
}

/** A gateway returns nothing to the listener of its messages, and handles the errors of its handlers. */
async function openGateways(folder: string): Promise<void> {
  await loadExport(path.join(folder, 'index.js'))
  const proxy = await loadPrototype(path.join(folder, 'context/ws-proxy.js'), 'WsProxy')
  observeMethod(proxy, 'create', () => ({ after: handler => observeCalls(handler as AnyFunction, followGateway) }))
  observeMethod(proxy, 'handleError', (_, [, , error]) => void failMessage({ error }))
}

/** Those of another transport are messages of its library, or requests of gRPC. */
const ownTransports: readonly unknown[] = ['TCP', 'REDIS', 'NATS']

async function openMicroservices(folder: string): Promise<void> {
  await loadExport(path.join(folder, 'index.js'))
  const transports = Object(await loadExport(path.join(folder, 'enums/transport.enum.js'), 'Transport'))
  observeMethod(await loadPrototype(path.join(folder, 'server/server.js'), 'Server'), 'addHandler', (self, args) => {
    const [pattern, handler] = args
    if (typeof handler !== 'function' || !ownTransports.includes(transports[Object(self).transportId])) return
    const name = typeof pattern === 'string' ? pattern : JSON.stringify(pattern)
    args[1] = observeCalls(handler as AnyFunction, (_, [input]) =>
      followUnit({ type: 'message', name, input, cause: null }),
    )
  })
  const proxy = await loadPrototype(path.join(folder, 'context/rpc-proxy.js'), 'RpcProxy')
  observeMethod(proxy, 'handleError', (_, [, , error]) => void failMessage({ error }))
}

function followGateway() {
  const unit = takeUnit()
  return unit && { after: (result: unknown) => endWith(unit, result) }
}

/**
 * The handlers of routes. The pipes of a handler run before it, in a function that gets the
 * message. They themselves do not get it.
 */
class Handlers {
  /** Those with pipes or other parameters. */
  readonly #withParameters = new WeakSet<object>()
  /** The handler of a message, while its pipes run. */
  readonly #waiting = new AsyncLocalStorage<{ readonly message: object } | undefined>()
  readonly #called = new WeakMap<object, FrameworkFunction>()
  /** Whether the handler that is prepared now has parameters. */
  #hasParameters = false

  /** The function that calls a handler begins. */
  begin(message: object, called: FrameworkFunction) {
    if (this.#withParameters.has(called.code)) {
      this.#called.set(message, called)
      return undefined
    }
    return followHandler(message, called)
  }

  watchPipes(context: object | undefined, consumer: object | undefined): void {
    observeMethod(context, 'create', (_, [, callback]) => {
      this.#hasParameters = false
      return {
        after: () => {
          if (this.#hasParameters && typeof callback === 'function') this.#withParameters.add(callback)
        },
      }
    })
    observeMethod(context, 'createPipesFn', () => ({ after: apply => this.#watchPipesOf(apply) }))
    observeMethod(consumer, 'applyPipes', (_, args) => {
      const { message } = this.#waiting.getStore() ?? {}
      const [, , pipes] = args
      if (message !== undefined && Array.isArray(pipes)) args[2] = watchAll(pipes, 'pipe', 'transform', message)
    })
  }

  /** A function that calls the pipes of a handler with the message behind its first argument. */
  #watchPipesOf(apply: unknown): unknown {
    if (typeof apply !== 'function') return apply
    this.#hasParameters = true
    return observeCalls(apply as AnyFunction, (_, values) => {
      const message = messageOf(values.slice(1))
      if (message === undefined) return undefined
      const outer = this.#waiting.getStore()
      this.#waiting.enterWith({ message })
      return {
        after: pipes => {
          this.#waiting.enterWith(outer)
          return this.#apply(message, pipes)
        },
      }
    })
  }

  /** The handler is called when its pipes are done. */
  async #apply(message: object, pipes: unknown): Promise<void> {
    await pipes
    const called = this.#called.get(message)
    if (called !== undefined) report(message, work => work.begin(called))
  }
}

/**
 * The decorators of Nest call this function of reflect-metadata with the class or method that they
 * decorate: it is where they are.
 */
function watchDecorators(): void {
  observeMethod(Reflect, 'defineMetadata', function define(_, [, , target, property]) {
    if (typeof target === 'function' && property === undefined) noteRegistration(target, define)
  })
}

/** The message of Node: that of Express is the same object. */
function messageOf(args: unknown): object | undefined {
  const [request] = Array.isArray(args) ? args : []
  if (typeof request !== 'object' || request === null) return undefined
  return (request as { readonly raw?: object }).raw ?? request
}

/** An interceptor goes on with each value of the stream of the handler, and is done when its own stream has it. */
function followInterceptor(message: object, called: FrameworkFunction, [, next]: unknown[]) {
  let end: (() => void) | undefined
  const begin = () => {
    end = report(message, work => work.pass(called))
  }
  observeMethod(Object(next), 'handle', () => ({ after: stream => watchValues(stream, begin) }))
  const watch = (stream: unknown) => watchValues(stream, () => end && report(message, end))
  return { after: (stream: unknown) => (isThenable(stream) ? stream.then(watch) : watch(stream)) }
}

/** Calls a function before each value of a stream of RxJS. */
function watchValues(stream: unknown, note: () => void): unknown {
  observeMethod(Object(stream), 'subscribe', (_, [observer]) => {
    observeMethod(Object(observer), 'next', () => void note())
  })
  return stream
}

/** What follows the call of a function. */
type FollowCall = (message: object, called: FrameworkFunction, args: unknown[]) => { after(result: unknown): unknown }

/** Guards, interceptors or pipes whose method reports its call. */
function watchAll(
  all: readonly NestFunction[],
  phase: string,
  method: string,
  message: object,
  followCall?: FollowCall,
): unknown[] {
  return all.map(one => {
    const called: FrameworkFunction = { phase, name: one.constructor.name, code: one.constructor }
    // A bound function has no frame in the stacks of errors.
    const bound = (one[method] as AnyFunction).bind(one)
    const observed = observeCalls(bound, (_, args) => {
      const { after } = followHandler(message, called)
      const following = followCall?.(message, called, args)
      return { after: result => after(following === undefined ? result : following.after(result)) }
    })
    return { [method]: observed }
  })
}
