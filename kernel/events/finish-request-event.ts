import { KernelEvent } from './kernel-event.ts'

/** A request is handled, well or not: listeners put back what they had changed for it. */
export class FinishRequestEvent extends KernelEvent {
  static readonly eventName = 'kernel.finish_request'
}
