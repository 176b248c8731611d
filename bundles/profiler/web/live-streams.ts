import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { isBrowserProbe } from '../insight/latest.ts'
import { hasMark } from '../insight/list-marks.ts'
import { parseListRequest } from '../insight/list-request.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { clientOf } from '../record/fingerprint.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** Milliseconds between a profile and its event: sub-requests are stored just before the request that they belong to. */
const delay = 100

/** The most tokens of one event. */
const tokenLimit = 100

/**
 * Creates a stream of events about new profiles of all processes that the list of the same address contains: `profiles`
 * with their tokens, or `reload` if there are too many. Only the list itself knows whether a request is slow or has findings:
 * the stream may report more.
 */
export function createLiveStream(request: Request, storage: Pick<ProfileStorage, 'tail'>): EventStream {
  const { isOfProbes, marks, matches } = parseListRequest(request.query)
  const context = { client: clientOf(request), isSlow: () => true, findings: new Set<string>() }
  const isMarked = (summary: ProfileSummary) =>
    marks.every(mark => mark === 'findings' || hasMark(mark, summary, context))
  return new EventStream(request, stream => {
    const reporter = new ProfileReporter(stream)
    const stop = storage.tail(summary => {
      if (isBrowserProbe(summary) === isOfProbes && matches(summary) && isMarked(summary)) reporter.add(summary.token)
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

  add(token: string): void {
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
    if (this.#hasLost) this.#stream.send({ event: 'reload', data: 'many' })
    else this.#stream.send({ event: 'profiles', data: [...this.#tokens].join(' ') })
    this.#tokens.clear()
    this.#hasLost = false
  }
}
