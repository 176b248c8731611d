import type { SourceProblem } from '../../../kernel/bundle.ts'
import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { processStart } from '../../../lib/process-start.ts'
import type { Signals } from '../../../lib/signals.ts'
import { showPath } from '../../../lib/text/show-path.ts'
import { formatPlace, shorten } from '../profile/format.ts'

/** The state of the application. */
interface ApplicationState {
  /** When its code came into use, in milliseconds since 1970: the start of the process, or its last read of templates. */
  readonly version: number
  /** The first mistake in changed files that cannot be used, such as `shop.ts:12: …`; empty without one. */
  readonly problem: string
  /** The number of type errors in the code that is used. */
  readonly typeErrors: number
}

/** Follows the state of the application, and reports it to pages. */
export class StateStreams {
  readonly #streams = new Set<EventStream>()
  #state: ApplicationState = { version: Math.round(processStart()), problem: '', typeErrors: 0 }

  /** `directory` is that of the application. */
  constructor(signals: Signals, directory: string) {
    signals.on('files.changed', () => this.#set({ ...this.#state, version: Date.now() }))
    signals.on('sources.broken', ({ problems, served }) => {
      const [first] = problems
      const isUsed = served === 'current'
      const problem = first === undefined || isUsed ? '' : describe(first, directory)
      this.#set({ ...this.#state, problem, typeErrors: isUsed ? problems.length : 0 })
    })
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

const messageLimit = 200

function describe({ file = '', line, message }: SourceProblem, directory: string): string {
  const place = file === '' ? '' : `${formatPlace({ file: showPath(file, directory), line })}: `
  return `${place}${shorten(message, messageLimit)}`
}
