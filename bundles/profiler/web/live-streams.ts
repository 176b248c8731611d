import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { parseListRequest } from '../insight/list-request.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { matchFilter } from '../store/search-summaries.ts'

/** Milliseconds between a profile and its event: sub-requests are stored just before the request that they belong to. */
const delay = 100

/** The most tokens of one event. */
const tokenLimit = 100

/**
 * Creates a stream of events about new profiles of all processes that the list of the same address contains: `profiles`
 * with their tokens, or `reload` if there are too many.
 */
export function createLiveStream(request: Request, storage: Pick<ProfileStorage, 'tail'>): EventStream {
  const tests = parseListRequest(request.query).query.filters.map(matchFilter)
  return new EventStream(request, stream => {
    const reporter = new ProfileReporter(stream)
    const stop = storage.tail(summary => {
      if (tests.every(matches => matches(summary))) reporter.add(summary)
    })
    return () => {
      stop()
      reporter.stop()
    }
  })
}

/** Reports to one client. At most a few tokens wait for it: a slow client gets `reload`. */
class ProfileReporter {
  readonly #stream: EventStream
  readonly #tokens = new Set<string>()
  #hasLost = false
  #timer: NodeJS.Timeout | undefined

  constructor(stream: EventStream) {
    this.#stream = stream
  }

  add({ token }: ProfileSummary): void {
    if (this.#tokens.size === tokenLimit) this.#hasLost = true
    else this.#tokens.add(token)
    this.#sendSoon()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.#send(), delay).unref()
  }

  #send(): void {
    this.#timer = undefined
    if (this.#stream.isBehind) {
      this.#sendSoon()
      return
    }
    const data = [...this.#tokens].join(' ')
    this.#stream.send(this.#hasLost ? { event: 'reload', data: 'many' } : { event: 'profiles', data })
    this.#tokens.clear()
    this.#hasLost = false
  }
}
