import { noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { followHandler, followHook, followLast, mountedAt, nameOf, noteFunctions } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Fastify publishes each new application. */
export const fastify: Library = {
  name: 'fastify',
  reports: 'functions',
  seenBy: 'channel',
  from: '4',
  // A hook would have frames in the stacks of errors that are not its own.
  changes: {
    'lib/reply.js'(exports) {
      observeMethod(Object(exports).prototype, 'send', function again(self, [payload]) {
        const { raw, request } = self as FastifyReply
        // Fastify only logs that, by default nowhere.
        if (raw.writableEnded) noteError(request, payload instanceof Error ? payload : describeRepetition(again))
        // The hooks of a response are not done: if this is a second one, it fails behind them,
        // where nothing says what has sent it.
        else if (sendingPhases.includes(report(raw, work => work.running?.phase))) {
          repetitions.set(self as object, describeRepetition(again))
        }
      })
    },
    'lib/error-handler.js'(exports) {
      if (typeof Object(exports).buildErrorHandler !== 'function') return
      isChanged = true
      observeMethod(Object(exports), 'handleError', (_, [reply, error]) => {
        const { request } = reply as FastifyReply
        const repetition = readProperty(error, 'code') === 'ERR_HTTP_HEADERS_SENT' && repetitions.get(reply as object)
        if (repetition) noteError(request, repetition)
        return noteError(request, error)
      })
    },
  },
  listen() {
    if (isListening) return
    isListening = true
    subscribeChannels({
      'fastify.initialization': listenTo<{ readonly fastify: FastifyApplication }>(({ fastify }) =>
        watchFastify(fastify),
      ),
    })
  },
}

/** The phases in which a response is being sent. */
const sendingPhases: readonly (string | undefined)[] = ['preSerialization', 'onSend']

/** What may be second responses, until these fail. */
const repetitions = new WeakMap<object, Error>()

let isListening = false

/** Whether Fastify reports the errors that it answers. */
let isChanged = false

/** The hooks of Fastify that run before a response ends. */
const fastifyHooks = 'onRequest preParsing preValidation preHandler preSerialization onSend onError'.split(' ')

/** The hook that runs after the response. */
const lastHook = 'onResponse'

/** Plugins inherit the changed method from their application. */
function watchFastify(fastify: FastifyApplication): void {
  const { addHook } = fastify
  const watched = (phase: string, code: unknown): unknown => {
    if (typeof code !== 'function') return code
    const called = { phase, name: nameOf(code), code }
    return observeCalls(code as AnyFunction, (_, args) => {
      if (phase === lastHook) return followLast((args[0] as FastifyRequest).raw, args)
      // The hooks `preSerialization` and `onSend` have the request first, too.
      const request = args[0] as FastifyRequest
      noteRoute(request)
      return phase === 'handler' ? followHandler(request.raw, called) : followHook(request.raw, called, args)
    })
  }
  const watchRoute = (options: Record<string, unknown>) => {
    for (const name of ['handler', ...fastifyHooks, lastHook]) {
      const given = options[name]
      if (given === undefined) continue
      noteFunctions([given], watchRoute)
      options[name] = Array.isArray(given) ? given.map(code => watched(name, code)) : watched(name, given)
    }
  }
  addHook.call(fastify, 'onRoute', watchRoute)
  if (!isChanged) {
    addHook.call(fastify, 'onError', (request: FastifyRequest, _reply: unknown, error: unknown, done: () => void) => {
      noteError(request, error)
      done()
    })
  }
  observeMethod(fastify, 'addHook', function add(_, args) {
    const [name, hook] = args
    if (typeof hook !== 'function' || ![...fastifyHooks, lastHook].includes(String(name))) return
    noteRegistration(hook, add)
    args[1] = watched(String(name), hook)
  })
}

function noteError(request: FastifyRequest, error: unknown): undefined {
  noteRoute(request)
  report(request.raw, work => work.fail(error))
}

function noteRoute({ params, raw, routeOptions }: FastifyRequest): void {
  const { handler, url } = routeOptions ?? {}
  if (url === undefined) return
  report(raw, work => {
    if (work.route !== undefined) return
    // A copy: they have a class of the router.
    const parameters = { ...(params as object) }
    work.noteRoute({ key: raw, pattern: mountedAt(raw) + url, parameters, handler: nameOf(handler) })
  })
}

interface FastifyApplication {
  addHook: AnyFunction
}

/** The error that Fastify logs; its stack begins with the code that has answered again. */
function describeRepetition(below: (...values: never[]) => unknown): Error {
  const error = Object.assign(new Error('Reply was already sent.'), { code: 'FST_ERR_REP_ALREADY_SENT' })
  Error.captureStackTrace(error, below)
  error.stack = String(error.stack).replace(/\n[^\n]*(?:\bobserve-calls\b|\bwasm:)[^\n]*/g, '')
  return error
}

interface FastifyReply {
  readonly raw: { readonly writableEnded: boolean }
  readonly request: FastifyRequest
}

interface FastifyRequest {
  readonly raw: object
  readonly params: unknown
  readonly routeOptions?: { readonly url?: string; readonly handler?: unknown }
}
