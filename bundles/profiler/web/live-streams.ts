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

/** Sub-requests are rarely deeper. */
const depthLimit = 20

/** The number of known profiles, by which the main request of a sub-request is found. */
const recentLimit = 1000

/**
 * Creates a stream of events about new profiles of all processes that the list of the same address contains: `profiles`
 * with the tokens of their main requests, or `reload` if there are too many. Only the list itself knows whether a request is
 * slow or has findings, and whether a family has all marks: the stream may report more.
 */
export function createLiveStream(request: Request, storage: Pick<ProfileStorage, 'tail'>): EventStream {
  const { marks, matches } = parseListRequest(request.query)
  const context = { client: clientOf(request), isSlow: () => true, findings: new Set<string>() }
  const isMarked = (summary: ProfileSummary) =>
    marks.length === 0 || marks.some(mark => mark === 'findings' || hasMark(mark, summary, context))
  const isWanted = (summary: ProfileSummary) => matches(summary) && isMarked(summary)
  return new EventStream(request, stream => {
    const reporter = new ProfileReporter(stream)
    const stop = storage.tail(summary => reporter.add(summary, isWanted(summary)))
    return () => {
      stop()
      reporter.stop()
    }
  })
}

/** Reports to one client. At most a few tokens wait for it: a slow client gets `reload`. */
class ProfileReporter {
  readonly #stream: EventStream
  /** The profiles that were stored last, by token. */
  readonly #recent = new Map<string, ProfileSummary>()
  readonly #tokens = new Set<string>()
  #hasLost = false
  #timer: NodeJS.Timeout | undefined

  constructor(stream: EventStream) {
    this.#stream = stream
  }

  add(summary: ProfileSummary, isWanted: boolean): void {
    const { token } = summary
    this.#recent.set(token, summary)
    if (this.#recent.size > recentLimit) this.#recent.delete(String(this.#recent.keys().next().value))
    if (!isWanted) return
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
    const mains = new Set([...this.#tokens].flatMap(token => this.#findMain(token)))
    if (this.#hasLost) this.#stream.send({ event: 'reload', data: 'many' })
    else if (mains.size > 0) this.#stream.send({ event: 'profiles', data: [...mains].join(' ') })
    this.#tokens.clear()
    this.#hasLost = false
  }

  /** The main request of a sub-request, as far as its parents are known. None of a request that the list leaves out. */
  #findMain(token: string): string | readonly [] {
    let main = token
    // Damaged profiles may be the parents of each other.
    for (let depth = 0; depth < depthLimit; depth++) main = this.#recent.get(main)?.parent ?? main
    const summary = this.#recent.get(main)
    return summary !== undefined && isBrowserProbe(summary) ? [] : main
  }
}
