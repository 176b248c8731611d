import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Signals } from '../../../lib/signals.ts'

/** The state of the application. */
interface ApplicationState {
  /** When its code came into use, in milliseconds since 1970: the start of the process, or its last read of templates. */
  readonly version: number
  /** Whether the sources have changed since, and do not compile. */
  readonly isBroken: boolean
}

/** Follows the state of the application, and reports it to pages. */
export class StateStreams {
  readonly #streams = new Set<EventStream>()
  #state: ApplicationState = { version: Math.round(performance.timeOrigin), isBroken: false }

  constructor(signals: Signals) {
    signals.on('files.changed', () => this.#set({ ...this.#state, version: Date.now() }))
    signals.on('sources.broken', ({ problems }) => this.#set({ ...this.#state, isBroken: problems.length > 0 }))
  }

  /** Creates a stream of events `state`: the state now, then after each change. It ends with the process. */
  open(request: Request): EventStream {
    return new EventStream(request, stream => {
      this.#streams.add(stream)
      stream.send({ event: 'state', data: this.#state })
      return () => this.#streams.delete(stream)
    })
  }

  #set(state: ApplicationState): void {
    this.#state = state
    for (const stream of this.#streams) stream.send({ event: 'state', data: state })
  }
}
