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
} from 'sinfonietta'
import type { EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'

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
