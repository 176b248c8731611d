import { createEventDispatcher, type EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { type RequestHandler, toController } from '../controller/controller.ts'
import { ControllerResolver } from '../controller/controller-resolver.ts'
import { ControllerArgumentsEvent } from '../events/controller-arguments-event.ts'
import { ControllerEvent } from '../events/controller-event.ts'
import { ExceptionEvent } from '../events/exception-event.ts'
import { FinishRequestEvent } from '../events/finish-request-event.ts'
import type { RequestKernel } from '../events/kernel-event.ts'
import { RequestEvent } from '../events/request-event.ts'
import { ResponseEvent } from '../events/response-event.ts'
import { TerminateEvent } from '../events/terminate-event.ts'
import { ViewEvent } from '../events/view-event.ts'
import { HttpKernel } from '../http-kernel.ts'
import { RequestContext } from '../request-context.ts'
import { RequestType } from '../request-type.ts'

/** What an event is made with; everything that is not said is as plain as can be. */
export interface EventInit {
  readonly request?: Request
  readonly type?: RequestType
  readonly kernel?: RequestKernel
  readonly response?: Response
}

/** Creates a request from this machine, for localhost. */
export function createRequest(target = '/', init: { method?: string; headers?: Record<string, string> } = {}): Request {
  const { method = 'GET', headers } = init
  const connection = { remoteAddress: '127.0.0.1' }
  return new Request({ target, method, headers: { host: 'localhost', ...headers }, connection })
}

/** Creates a kernel without any listener but those of the given dispatcher. */
export function createBareKernel(
  dispatcher: EventDispatcher = createEventDispatcher(),
  controllers: ControllerResolver = new ControllerResolver(),
  logger: Logger = silentLogger,
): HttpKernel {
  return new HttpKernel({ dispatcher, controllers, context: new RequestContext(), logger })
}

export function createRequestEvent(init: EventInit = {}): RequestEvent {
  return new RequestEvent(...common(init))
}

export function createControllerEvent(handler: RequestHandler, init: EventInit = {}): ControllerEvent {
  return new ControllerEvent(...common(init), toController(handler))
}

export function createControllerArgumentsEvent(
  handler: RequestHandler,
  values: unknown[],
  init: EventInit = {},
): ControllerArgumentsEvent {
  return new ControllerArgumentsEvent(...common(init), toController(handler), values)
}

export function createViewEvent(result: unknown, init: EventInit = {}): ViewEvent {
  return new ViewEvent(...common(init), result)
}

export function createResponseEvent(init: EventInit = {}): ResponseEvent {
  return new ResponseEvent(...common(init), init.response ?? new Response())
}

export function createFinishRequestEvent(init: EventInit = {}): FinishRequestEvent {
  return new FinishRequestEvent(...common(init))
}

export function createExceptionEvent(error: unknown, init: EventInit = {}): ExceptionEvent {
  return new ExceptionEvent(...common(init), error)
}

export function createTerminateEvent(init: EventInit = {}): TerminateEvent {
  const [kernel, request] = common(init)
  return new TerminateEvent(kernel, request, init.response ?? new Response())
}

function common({ kernel, request, type }: EventInit): [RequestKernel, Request, RequestType] {
  return [kernel ?? createBareKernel(), request ?? createRequest(), type ?? RequestType.Main]
}

function ignore(): void {}

/** A logger that says nothing. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warning: ignore,
  error: ignore,
  critical: ignore,
  channel: () => silentLogger,
  observe: () => ignore,
}
