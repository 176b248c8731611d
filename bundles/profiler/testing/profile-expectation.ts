import { AssertionError } from 'node:assert'
import type { EventClass } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { LogLevel } from '../../../lib/log/logger.ts'
import { toMarkdown } from '../export/markdown.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import type { Profile } from '../profile/profile.ts'
import {
  checkLogged,
  checkRendered,
  checkRoute,
  checkSent,
  checkStatus,
  checkSubRequests,
  checkThrown,
  sessionCheck,
} from './checks/answer.ts'
import { checkCalled, checkDispatched, checkDuration, checkFindings, checkOrder } from './checks/events.ts'
import type { ProfileCheck } from './profile-check.ts'

/** How many lines of a record a failure shows. */
const excerptLimit = 60

/**
 * Holds a request against what a test expects of it. Each claim throws a {@link ProfileAssertionError} unless it is true,
 * and gives the expectation back for the next one; `not` turns round the one claim that follows it.
 */
export class ProfileExpectation {
  /** The record, to look closer. */
  readonly profile: Profile
  /** Its sub-requests, in the order in which they began. */
  readonly subRequests: readonly ProfileExpectation[]
  readonly #subject: ShownProfile
  readonly #affirmed: ProfileExpectation | undefined

  /** `affirmed` is what this one is the opposite of. */
  constructor(subject: ShownProfile, subRequests: readonly ProfileExpectation[], affirmed?: ProfileExpectation) {
    this.profile = subject.profile
    this.subRequests = subRequests
    this.#subject = subject
    this.#affirmed = affirmed
  }

  /** Expects the opposite of the claim that follows. */
  get not(): ProfileExpectation {
    return this.#affirmed ?? new ProfileExpectation(this.#subject, this.subRequests, this)
  }

  /** It was answered with this status. */
  answered(status: number): ProfileExpectation {
    return this.#hold(checkStatus(status), this.answered)
  }

  /** The router found this route. */
  matched(route: string): ProfileExpectation {
    return this.#hold(checkRoute(route), this.matched)
  }

  /** Something was thrown: anything; or an error of this class, that says this; be it as the cause of another. */
  threw(name?: string, message?: string | RegExp): ProfileExpectation {
    return this.#hold(checkThrown(name, message), this.threw)
  }

  /** The event was dispatched: at all, or so many times. Sub-requests have their own events. */
  dispatched(event: string | EventClass, count?: number): ProfileExpectation {
    return this.#hold(checkDispatched(nameOf(event), count), this.dispatched)
  }

  /** These events were dispatched in this order; others may have been between them. */
  dispatchedInOrder(...events: readonly (string | EventClass)[]): ProfileExpectation {
    return this.#hold(checkOrder('dispatch', events.map(nameOf)), this.dispatchedInOrder)
  }

  /** The listener was called: at all, or so many times. `CartListener` means each of its methods. */
  called(listener: string, count?: number): ProfileExpectation {
    return this.#hold(checkCalled(listener, count), this.called)
  }

  /** These listeners were called in this order; others may have been between them. */
  calledInOrder(...listeners: readonly string[]): ProfileExpectation {
    return this.#hold(checkOrder('call', listeners), this.calledInOrder)
  }

  /** The template was rendered, be it as a partial: at all, or so many times. Without a name: any was. */
  rendered(template?: string, count?: number): ProfileExpectation {
    return this.#hold(checkRendered(template, count), this.rendered)
  }

  /** Something of this level or above was logged that contains a text or matches a pattern: at all, or so many times. */
  logged(level: LogLevel, text?: string | RegExp, count?: number): ProfileExpectation {
    return this.#hold(checkLogged(level, text, count), this.logged)
  }

  /** HTTP requests were sent to others: at all, or so many. */
  sentRequests(count?: number): ProfileExpectation {
    return this.#hold(checkSent(undefined, count), this.sentRequests)
  }

  /** HTTP requests were sent to a URL that contains a text or matches a pattern: at all, or so many. */
  sentRequestsTo(url: string | RegExp, count?: number): ProfileExpectation {
    return this.#hold(checkSent(url, count), this.sentRequestsTo)
  }

  /** Sub-requests were made: at all, or so many. */
  madeSubRequests(count?: number): ProfileExpectation {
    return this.#hold(checkSubRequests(count), this.madeSubRequests)
  }

  /** The session was read or begun. */
  startedSession(): ProfileExpectation {
    return this.#hold(sessionCheck, this.startedSession)
  }

  /**
   * It took at most so many milliseconds. A part may be the `controller`, `templates`, `calls` to others, an event, a
   * listener, or a name of the stopwatch.
   */
  tookAtMost(milliseconds: number, part = 'request'): ProfileExpectation {
    return this.#hold(checkDuration(milliseconds, part), this.tookAtMost)
  }

  /** Something could be better about it, by any rule or by this one: at all, or so many times. */
  hadFindings(rule?: string, count?: number): ProfileExpectation {
    return this.#hold(checkFindings(rule, count), this.hadFindings)
  }

  /** A claim of your own is true. */
  satisfied(check: ProfileCheck): ProfileExpectation {
    return this.#hold(check, this.satisfied)
  }

  /** What a collector has told of the request, as it is kept: masked. */
  dataOf(collector: string): unknown {
    return this.profile.data[collector]
  }

  /** The record as Markdown, or what one of its panels shows. */
  toMarkdown(panel?: string): string {
    return toMarkdown(this.#subject, panel)
  }

  #hold(check: ProfileCheck, caller: (...values: never[]) => unknown): ProfileExpectation {
    const affirmed = this.#affirmed
    const { actual, expected, found, holds } = check.examine(this.#subject)
    if (holds === (affirmed === undefined)) return affirmed ?? this
    const { method, token, url } = this.profile.summary
    throw new ProfileAssertionError({
      message: `Expected ${method} ${url} ${affirmed ? 'not ' : ''}to ${check.claim}, but ${found} (profile ${token}).`,
      expected: affirmed ? { not: expected } : expected,
      actual,
      excerpt: toExcerpt(this.toMarkdown(check.panel)),
      caller,
    })
  }
}

function nameOf(event: string | EventClass): string {
  return typeof event === 'string' ? event : event.eventName
}

/** As lines, which all test runners show as such; without the empty ones. */
function toExcerpt(markdown: string): string[] {
  const lines = markdown.split('\n').filter(line => line !== '')
  const rest = lines.length - excerptLimit
  return rest <= 0 ? lines : [...lines.slice(0, excerptLimit), `… and ${rest} more lines: toMarkdown() gives them all.`]
}

/** What a failure is made of. */
export interface ProfileFailure {
  readonly message: string
  readonly expected: unknown
  readonly actual: unknown
  readonly excerpt: readonly string[]
  /** The function that was called: the stack begins with its caller. */
  readonly caller: (...values: never[]) => unknown
}

/** A request was not as expected; test runners show the record with the difference. */
export class ProfileAssertionError extends AssertionError {
  /** What matters of the record, as lines of Markdown. */
  readonly excerpt: readonly string[]

  constructor({ actual, caller, excerpt, expected, message }: ProfileFailure) {
    super({ message, expected, actual, operator: caller.name, stackStartFn: caller })
    this.excerpt = excerpt
  }
}
