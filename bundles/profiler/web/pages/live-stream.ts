import { guard } from '../../../../lib/guard.ts'
import { EventStream } from '../../../../lib/http/event-stream.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { readClock, startTimer, stopTimer } from '../../../../lib/own-globals.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import { createFilter } from '../../insight/search-list.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { clientOf } from '../../record/collect.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'

/**
 * The position of a live list: after the profile with this token. It is not the token itself,
 * because a page of a search has only the tokens of its results.
 */
export function toPosition(token: string): string {
  return token === '' ? '' : Number.parseInt(token, 16).toString(36)
}

/**
 * Milliseconds between a profile and its event: sub-requests are stored just before the request that they belong to.
 */
const delay = 20

/** Milliseconds between two events. */
const eventInterval = 100

/** The most tokens of one event. */
const tokenLimit = 100

/**
 * Creates a stream of events about new profiles of all processes that the list of the same address contains: `profiles`
 * with their tokens, or `reload` if there are too many. It may report more than the list contains. It begins at the
 * position `after`, so that none is missed between the page and its stream.
 */
export function createLiveStream(request: Request, storage: Pick<ProfileStorage, 'search' | 'tail'>): EventStream {
  const isListed = createFilter(parseListRequest(request.query), clientOf(request))
  const after = request.query.get('after')
  return new EventStream(request, stream => {
    const reporter = new ProfileReporter(stream)
    const report = (summary: ProfileSummary) => {
      if (isListed(summary)) reporter.add(summary.token)
    }
    const stop = storage.tail(report)
    if (after !== null) void findSince(storage, after).then(missed => missed.forEach(report))
    return () => {
      stop()
      reporter.stop()
    }
  })
}

/** Finds the profiles that were appended after this position: at most one more than an event can have. */
async function findSince(storage: Pick<ProfileStorage, 'search'>, position: string): Promise<ProfileSummary[]> {
  const { summaries } = await storage.search({ limit: tokenLimit + 1 })
  const index = summaries.findIndex(({ token }) => toPosition(token) === position)
  return summaries.slice(0, index === -1 ? undefined : index).toReversed()
}

/** Reports to one client. At most a few tokens wait for it: a slow client gets `reload`. */
class ProfileReporter {
  readonly #stream: EventStream
  readonly #tokens = new Set<string>()
  #hasLost = false
  #timer: NodeJS.Timeout | undefined
  #lastEvent = Number.NEGATIVE_INFINITY

  constructor(stream: EventStream) {
    this.#stream = stream
  }

  add(token: string): void {
    if (this.#tokens.size === tokenLimit) this.#hasLost = true
    else this.#tokens.add(token)
    this.#sendSoon()
  }

  stop(): void {
    stopTimer(this.#timer)
  }

  #sendSoon(): void {
    const rest = this.#lastEvent + eventInterval - readClock()
    this.#timer ??= startTimer(this.#sendNow, Math.max(delay, rest)).unref()
  }

  readonly #sendNow = guard('the live list', () => this.#send())

  #send(): void {
    this.#timer = undefined
    this.#lastEvent = readClock()
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
