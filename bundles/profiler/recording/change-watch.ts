import {
  AnswerableEvent,
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  type KernelEvent,
  ResponseEvent,
} from '../../../kernel/events.ts'
import type { Attributes } from '../../../lib/http/request.ts'
import { AttributeWatch } from './attribute-watch.ts'
import { ResponseWatch } from './response-watch.ts'

/** Sees changes of one thing; a change is told once, to whoever asks first. */
interface Watch {
  /** What has changed since this was asked last. */
  take(): string[] | undefined
}

const changeLimit = 50

/** Sees what listeners change: attributes of the request; and of an event its response, controller and error. */
export class ChangeWatch {
  readonly #attributes: AttributeWatch
  #watches: readonly Watch[] = []

  constructor(attributes: Attributes) {
    this.#attributes = new AttributeWatch(attributes)
  }

  /** Looks at this event, in the place of the one before, from now on. */
  follow(event: KernelEvent): void {
    this.#watches = createWatches(event)
  }

  /** What has changed since this was asked last, such as `set attribute _route`; `undefined` when nothing has. */
  take(): string[] | undefined {
    let changes = this.#attributes.take()
    for (const watch of this.#watches) {
      const more = watch.take()
      if (more !== undefined) changes = changes === undefined ? more : [...changes, ...more]
    }
    if (changes === undefined || changes.length <= changeLimit) return changes
    return [...changes.slice(0, changeLimit), `and ${changes.length - changeLimit} more`]
  }
}

function createWatches(event: KernelEvent): readonly Watch[] {
  if (event instanceof ResponseEvent) return [new ResponseWatch(event)]
  if (event instanceof ControllerEvent || event instanceof ControllerArgumentsEvent) {
    return [new IdentityWatch(() => event.controller, 'replaced the controller')]
  }
  if (!(event instanceof AnswerableEvent)) return []
  const response = new ResponseWatch(event)
  return event instanceof ExceptionEvent
    ? [response, new IdentityWatch(() => event.error, 'replaced the error')]
    : [response]
}

class IdentityWatch implements Watch {
  readonly #read: () => unknown
  readonly #change: string
  #seen: unknown

  constructor(read: () => unknown, change: string) {
    this.#read = read
    this.#change = change
    this.#seen = read()
  }

  take(): string[] | undefined {
    const value = this.#read()
    if (Object.is(value, this.#seen)) return undefined
    this.#seen = value
    return [this.#change]
  }
}
