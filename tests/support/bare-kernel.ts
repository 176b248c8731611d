import type { RequestHandler } from '#kernel/controller.ts'
import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  type KernelEvent,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from '#kernel/events.ts'
import type { HttpKernel } from '#kernel/http-kernel.ts'
import { createBareKernel, createRequest } from '#kernel/testing/event-factories.ts'
import { RecordingDispatcher } from '#kernel/testing/recording-dispatcher.ts'
import type { EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '#lib/http/request.ts'
import { Response } from '#lib/http/response.ts'

/** Every event of the lifecycle. */
export const lifecycle: readonly EventClass<KernelEvent>[] = [
  RequestEvent,
  ControllerEvent,
  ControllerArgumentsEvent,
  ViewEvent,
  ExceptionEvent,
  ResponseEvent,
  FinishRequestEvent,
  TerminateEvent,
]

/** A kernel without listeners, a request that has its controller already, and the names of the events as they happen. */
export interface Bare {
  readonly kernel: HttpKernel
  readonly dispatcher: RecordingDispatcher
  readonly request: Request
  readonly sequence: readonly string[]
}

export function createBare(handler: RequestHandler = () => new Response('done')): Bare {
  const dispatcher = new RecordingDispatcher()
  const request = createRequest('/here', { attributes: { _controller: handler } })
  return { kernel: createBareKernel(dispatcher), dispatcher, request, sequence: dispatcher.sequence }
}
