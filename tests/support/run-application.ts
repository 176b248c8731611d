import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  type KernelEvent,
  type Request,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { type Controller, ControllerResolver } from '#kernel/controller.ts'
import { HttpKernel } from '#kernel/http-kernel.ts'
import { createEventDispatcher, type EventClass, type EventDispatcher } from '#lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import type { Argument } from '#lib/routing/sources.ts'
import type { Act, ApplicationSpec, ControllerSpec, Ending, ListenerSpec, RequestSpec } from './random-application.ts'
import type { Values } from './random-values.ts'
import { RunLog } from './run-log.ts'

/**
 * How listeners, controllers and arguments are called: as they are; after a pause; or each call by
 * chance as it is, after a pause, or before a pause.
 */
export type Way = 'synchronous' | 'asynchronous' | 'mixed'

/** Handles the requests of an application. Returns a line for each dispatch, call, log message and response. */
export async function runApplication(spec: ApplicationSpec, way: Way): Promise<readonly string[]> {
  const run = new Run(spec, way)
  for (const request of spec.requests) await run.handle(request)
  return run.log.lines
}

/** The classes of events by their names in a specification. */
const eventTypes: Readonly<Record<ListenerSpec['event'], EventClass<KernelEvent>>> = {
  RequestEvent,
  ControllerEvent,
  ControllerArgumentsEvent,
  ViewEvent,
  ResponseEvent,
  FinishRequestEvent,
  ExceptionEvent,
  TerminateEvent,
}

const isAnswerable = (event: KernelEvent) =>
  event instanceof RequestEvent || event instanceof ViewEvent || event instanceof ExceptionEvent

class Run {
  readonly log: RunLog = new RunLog()
  readonly #spec: ApplicationSpec
  readonly #way: Way
  readonly #dispatcher: EventDispatcher
  readonly #controllers: readonly Controller[]
  readonly #kernel: HttpKernel
  readonly #values: Values = this.log.values
  readonly #removers: (() => void)[] = []
  #subRequests: number
  #chance: number

  constructor(spec: ApplicationSpec, way: Way) {
    this.#spec = spec
    this.#way = way
    this.#subRequests = spec.subRequests
    this.#chance = spec.seed
    const plain = createEventDispatcher()
    this.#dispatcher = spec.isTraced ? new TraceableEventDispatcher(plain, this.log.createTracer()) : plain
    this.#controllers = spec.controllers.map((controller, index) => this.#createController(controller, index))
    this.#kernel = new HttpKernel({
      dispatcher: this.#dispatcher,
      controllers: new ControllerResolver(),
      context: this.log.context,
      logger: this.log.createLogger(),
      isolation: { tests: [({ headers }) => headers.has('x-isolated')], isCore: ({ owner }) => owner === 'core' },
      ...(spec.lastResort !== 'default' && { lastResort: (request, errors) => this.#lastResort(request, errors) }),
    })
    for (const [index, listener] of spec.listeners.entries()) this.#addListener(listener, `listener ${index}`)
    if (spec.hasErrorPage) this.#addErrorPage()
  }

  async handle({ catchErrors, controller, isIsolated, isSent, streamError }: RequestSpec): Promise<void> {
    const request = createRequest('/', {
      attributes: { _controller: this.#controller(controller) },
      ...(isIsolated && { headers: { 'x-isolated': 'yes' } }),
    })
    const pending =
      this.#way === 'mixed' ? this.#answer(request, catchErrors) : this.#kernel.handle(request, { catchErrors })
    const { current } = this.log.context
    let response = await this.#settle('handle()', pending)
    this.log.write(`handle() keeps its context: ${current === undefined}`)
    if (streamError !== undefined) {
      response = await this.#settle(
        'answerError()',
        this.#kernel.answerError(request, this.#values.throwable(streamError)),
      )
    }
    if (response === undefined) return
    const error = streamError === undefined || isSent ? undefined : this.#values.throwable(streamError)
    await this.#kernel.terminate(request, response, { isSent, streamError: error })
    this.log.write('terminate() ends')
  }

  /** As the server calls the kernel: without a promise if nothing is pending. */
  async #answer(request: Request, catchErrors: boolean): Promise<Response> {
    return this.#kernel.answer(request, { catchErrors })
  }

  async #settle(name: string, pending: Promise<Response>): Promise<Response | undefined> {
    try {
      const response = await pending
      this.log.write(`${name} gives ${this.#values.describe(response)}`)
      return response
    } catch (error) {
      this.log.write(`${name} rejects with ${this.#values.describe(error)}`)
      return undefined
    }
  }

  /** Calls a function in the way of this run. */
  #vary<values extends readonly unknown[]>(call: (...values: values) => unknown): (...values: values) => unknown {
    const before = async (...values: values) => {
      await undefined
      return call(...values)
    }
    const after = async (...values: values) => {
      const result = call(...values)
      await undefined
      return result
    }
    return (...values) => {
      if (this.#way === 'synchronous') return call(...values)
      if (this.#way === 'asynchronous') return before(...values)
      this.#chance = (Math.imul(this.#chance, 1_664_525) + 1_013_904_223) >>> 0
      return [call, call, before, after][this.#chance >>> 30]?.(...values)
    }
  }

  #addListener({ acts, ending, event, isCore, priority }: ListenerSpec, name: string): void {
    const listener = (event: KernelEvent): unknown => {
      this.log.write(`${name} of ${this.log.describeEvent(event)}`)
      return this.#perform(
        acts,
        event,
        () => remove(),
        () => this.#end(ending, name),
      )
    }
    const owner = isCore ? 'core' : 'other'
    const type = eventTypes[event]
    const remove = this.#dispatcher.on(type, this.#vary(listener), priority, name, owner)
    this.#removers.push(remove)
  }

  /** Performs acts one after another, and then an ending. Asynchronous only from a sub-request on. */
  #perform(acts: readonly Act[], event: KernelEvent, remove: () => void, end: () => unknown): unknown {
    for (const [index, act] of acts.entries()) {
      if (act.act === 'remove itself') remove()
      else if (act.act === 'ask') {
        if (this.#subRequests <= 0) continue
        const rest = acts.slice(index + 1)
        return this.#ask(act, event).then(() => this.#perform(rest, event, remove, end))
      } else this.#do(act, event)
    }
    return end()
  }

  #do(act: Exclude<Act, { act: 'ask' | 'remove itself' }>, event: KernelEvent): void {
    if (act.act === 'stop') event.stopPropagation()
    if (act.act === 'attribute') {
      const before = event.request.attributes.get('trail') ?? ''
      event.request.attributes.set('trail', `${before}${act.value}`)
    }
    if (act.act === 'respond' && isAnswerable(event)) {
      event.respond(this.#values.response(act.status, act.isValid))
    }
    if (act.act === 'replace') this.#replace(act, event)
    if (act.act === 'remove') this.#removers[act.index]?.()
    if (act.act === 'add') this.#addSpare(act.index)
  }

  /** Added listeners are called from the next dispatch on. The limit bounds listeners that add themselves. */
  #addSpare(index: number): void {
    const spare = this.#spec.spares[index % this.#spec.spares.length]
    if (spare !== undefined && this.#removers.length < 24) this.#addListener(spare, `spare ${this.#removers.length}`)
  }

  #replace({ isValid, status, thrown }: Extract<Act, { isValid: boolean }>, event: KernelEvent): void {
    if (event instanceof ControllerEvent) event.controller = this.#controller(status)
    if (event instanceof ControllerArgumentsEvent) event.arguments = [status]
    if (event instanceof ResponseEvent) event.response = this.#values.response(status, isValid)
    if (event instanceof ExceptionEvent) {
      event.error = this.#values.throwable(thrown)
      event.keepsStatus = !isValid
    }
  }

  async #ask(act: Extract<Act, { act: 'ask' }>, event: KernelEvent): Promise<void> {
    const response = await this.#subRequest(event.request, act.controller, act.catchErrors)
    if (!act.isAnswer) return
    if (isAnswerable(event)) event.respond(response)
    if (event instanceof ResponseEvent) event.response = response
  }

  async #subRequest(parent: Request, controller: number, catchErrors: boolean): Promise<Response> {
    this.#subRequests--
    const request = parent.duplicate()
    request.attributes.set('_controller', this.#controller(controller))
    try {
      const response = await this.#kernel.handle(request, { catchErrors })
      this.log.write(`the sub-request gives ${this.#values.describe(response)}`)
      return response
    } catch (error) {
      this.log.write(`the sub-request fails with ${this.#values.describe(error)}`)
      throw error
    }
  }

  /** As the framework does it: a sub-request, whose errors are those of this listener. */
  #addErrorPage(): void {
    const listener = async (event: ExceptionEvent) => {
      if (this.#subRequests > 0) event.respond(await this.#subRequest(event.request, 0, false))
    }
    this.#dispatcher.on(ExceptionEvent, this.#vary(listener), -128, 'error page', 'core')
  }

  #end(ending: Ending, label: string, result?: unknown): unknown {
    if (ending.ends === 'returns') return result
    const error = this.#values.throwable(ending.thrown)
    if (ending.ends === 'throws') throw error
    if (ending.ends === 'rejects') return Promise.reject(error)
    return this.#values.thenable(ending.form, label, result, error)
  }

  #controller(index: number): Controller {
    // There is at least one.
    return this.#controllers[index % this.#controllers.length] as Controller
  }

  #createController(spec: ControllerSpec, index: number): Controller {
    const name = `controller ${index}`
    const sources: Argument[] = spec.arguments.map(kind => request => {
      if (kind === 'request') return request
      return kind === 'value' ? kind : Promise.resolve(kind)
    })
    const { lastArgument } = spec
    if (lastArgument !== undefined) sources.push(() => this.#end(lastArgument, `argument of ${name}`))
    const call = (...values: unknown[]) => {
      this.log.write(`${name} with ${values.map(value => this.#values.describe(value)).join(', ')}`)
      const { current } = this.log.context
      if (spec.result === 'fragment' && this.#subRequests > 0 && current !== undefined) {
        return this.#subRequest(current, spec.fragment, true).then(({ body }) => {
          return this.#end(spec.ending, name, new Response(`around ${String(body)}`))
        })
      }
      return this.#end(spec.ending, name, this.#values.result(spec.result, spec.status))
    }
    return { name, arguments: sources.map(source => this.#vary(source)), call: this.#vary(call) }
  }

  #lastResort(request: Request, errors: readonly unknown[]): Response {
    const list = errors.map(error => this.#values.describe(error)).join(' and ')
    this.log.write(`last resort of ${this.#values.describe(request)} for ${list}`)
    if (this.#spec.lastResort === 'throws') throw this.#values.throwable('error')
    return new Response('', { status: 599 })
  }
}
