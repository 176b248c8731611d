import { AnswerableEvent } from './answerable-event.ts'

/** A request has come in: listeners add to its attributes, choose its controller, or answer it in the controller's place. */
export class RequestEvent extends AnswerableEvent {
  static readonly eventName = 'kernel.request'
}
