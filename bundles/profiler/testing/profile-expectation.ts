import { AssertionError } from 'node:assert'
import { ARGUMENT_INVALID, checkArguments, checkOptions } from '../../../lib/errors/arguments.ts'
import type { EventClass } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { LogLevel } from '../../../lib/log/logger.ts'
import { type ShapeOf, suggestNames } from '../../../lib/text/mistakes.ts'
import { toMarkdown } from '../export/markdown.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import type { Profile } from '../profile/profile.ts'
import { profilerRules } from '../subjects/rules.ts'
import {
  checkCalled,
  checkDispatched,
  checkDuration,
  checkFindings,
  checkLogged,
  checkOrder,
  checkRan,
  checkRendered,
  checkRoute,
  checkSent,
  checkStatus,
  checkSubRequests,
  checkThrown,
  type ProfileCheck,
  type RanQueries,
  sessionCheck,
} from './checks.ts'

/** The number of lines of a profile in a failure. */
const excerptLimit = 60

/**
 * Checks claims about a request against its profile. Each method throws a {@link ProfileAssertionError} if its claim is
 * false; otherwise it returns the expectation, so that calls can be chained. `not` negates the next claim only.
 */
export class ProfileExpectation {
  /** The profile, for other assertions. */
  readonly profile: Profile
  /** The expectations of its sub-requests, in the order in which they began. */
  readonly subRequests: readonly ProfileExpectation[]
  readonly #subject: ShownProfile
  readonly #affirmed: ProfileExpectation | undefined
  readonly #rules: readonly string[]

  /**
   * `affirmed` is the expectation that this one negates; `rules` are the names of the rules that the findings are of.
   */
  constructor(
    subject: ShownProfile,
    subRequests: readonly ProfileExpectation[],
    affirmed?: ProfileExpectation,
    rules: readonly string[] = profilerRules.map(({ name }) => name),
  ) {
    this.profile = subject.profile
    this.subRequests = subRequests
    this.#subject = subject
    this.#affirmed = affirmed
    this.#rules = rules
  }

  /** Negates the next claim. */
  get not(): ProfileExpectation {
    return this.#affirmed ?? new ProfileExpectation(this.#subject, this.subRequests, this, this.#rules)
  }

  /** The response has this status. */
  answered(status: number): ProfileExpectation {
    checkArguments('answered(status)', ['number'], status)
    return this.#hold(checkStatus(status), this.answered)
  }

  /** The router matched this route. */
  matched(route: string): ProfileExpectation {
    checkArguments('matched(route)', ['string'], route)
    return this.#hold(checkRoute(route), this.matched)
  }

  /** An exception was thrown, also as the cause of another one: by default any, or one with this class and message. */
  threw(name?: string, message?: string | RegExp): ProfileExpectation {
    checkArguments('threw(name, message)', ['string?', 'pattern?'], name, message)
    return this.#hold(checkThrown(name, message), this.threw)
  }

  /** The event was dispatched, by default at least once. Sub-requests have their own events. */
  dispatched(event: string | EventClass, count?: number): ProfileExpectation {
    checkArguments('dispatched(event, count)', ['string', 'number?'], nameOf(event), count)
    return this.#hold(checkDispatched(nameOf(event), count), this.dispatched)
  }

  /** The events were dispatched in this order; other events may be between them. */
  dispatchedInOrder(...events: readonly (string | EventClass)[]): ProfileExpectation {
    return this.#hold(checkOrder('dispatch', events.map(nameOf)), this.dispatchedInOrder)
  }

  /** The listener was called, by default at least once. `CartListener` includes all its methods. */
  called(listener: string, count?: number): ProfileExpectation {
    checkArguments('called(listener, count)', ['string', 'number?'], listener, count)
    return this.#hold(checkCalled(listener, count), this.called)
  }

  /** The listeners were called in this order; other listeners may be between them. */
  calledInOrder(...listeners: readonly string[]): ProfileExpectation {
    return this.#hold(checkOrder('call', listeners), this.calledInOrder)
  }

  /** The template was rendered, also as a partial, by default at least once. Without a name, any template counts. */
  rendered(template?: string, count?: number): ProfileExpectation {
    checkArguments('rendered(template, count)', ['string?', 'number?'], template, count)
    return this.#hold(checkRendered(template, count), this.rendered)
  }

  /**
   * A message of this level or above was logged, by default at least once: with a text or pattern, only matching
   * messages count.
   */
  logged(level: LogLevel, text?: string | RegExp, count?: number): ProfileExpectation {
    checkArguments('logged(level, text, count)', ['string', 'pattern?', 'number?'], level, text, count)
    return this.#hold(checkLogged(level, text, count), this.logged)
  }

  /** The application made HTTP client calls, by default at least one. */
  sentRequests(count?: number): ProfileExpectation {
    checkArguments('sentRequests(count)', ['number?'], count)
    return this.#hold(checkSent(undefined, count), this.sentRequests)
  }

  /**
   * The application made HTTP client calls to a URL that contains a text or matches a pattern, by default at least one.
   */
  sentRequestsTo(url: string | RegExp, count?: number): ProfileExpectation {
    checkArguments('sentRequestsTo(url, count)', ['pattern', 'number?'], url, count)
    return this.#hold(checkSent(url, count), this.sentRequestsTo)
  }

  /**
   * The request ran queries: by default at least one of a database, with a number exactly so many,
   * or as described. Queries of sub-requests belong to their own expectations.
   */
  ran(queries: number | RanQueries = {}): ProfileExpectation {
    if (typeof queries !== 'number') checkOptions('ran(queries)', queries, ranShape)
    return this.#hold(checkRan(typeof queries === 'number' ? { count: queries } : queries), this.ran)
  }

  /** Sub-requests were made, by default at least one. */
  madeSubRequests(count?: number): ProfileExpectation {
    checkArguments('madeSubRequests(count)', ['number?'], count)
    return this.#hold(checkSubRequests(count), this.madeSubRequests)
  }

  /** The session was read or started. */
  startedSession(): ProfileExpectation {
    return this.#hold(sessionCheck, this.startedSession)
  }

  /**
   * The request, or a part of it, took at most the given milliseconds. A part is `controller`, `templates`, `calls`
   * (HTTP client calls), `queries` (of databases), an event, a listener, or a name of the stopwatch.
   */
  tookAtMost(milliseconds: number, part = 'request'): ProfileExpectation {
    checkArguments('tookAtMost(milliseconds, part)', ['number', 'string'], milliseconds, part)
    return this.#hold(checkDuration(milliseconds, part), this.tookAtMost)
  }

  /**
   * The request has findings, by default at least one: of any rule, or of the given one. @throws
   * ARGUMENT_INVALID for an unknown rule
   */
  hadFindings(rule?: string, count?: number): ProfileExpectation {
    checkArguments('hadFindings(rule, count)', ['string?', 'number?'], rule, count)
    if (rule !== undefined && !this.#rules.includes(rule)) {
      const right = suggestNames(rule, this.#rules) || `: use ${this.#rules.join(', ')}`
      throw new ARGUMENT_INVALID(['hadFindings(rule)', `there is no rule "${rule}"${right}`])
    }
    return this.#hold(checkFindings(rule, count), this.hadFindings)
  }

  /** An additional claim is true. */
  satisfied(check: ProfileCheck): ProfileExpectation {
    checkArguments('satisfied(check)', ['object'], check)
    checkOptions('satisfied(check)', check, checkShape)
    return this.#hold(check, this.satisfied)
  }

  /** Returns the stored, masked data of a collector. */
  dataOf(collector: string): unknown {
    checkArguments('dataOf(collector)', ['string'], collector)
    return this.profile.data[collector]
  }

  /** Writes the profile, or one of its panels, as Markdown. */
  toMarkdown(panel?: string): string {
    checkArguments('toMarkdown(panel)', ['string?'], panel)
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

const ranShape: ShapeOf<RanQueries> = {
  count: 'number',
  atMost: 'number',
  kind: 'string',
  system: 'string',
  text: true,
  isRepeated: 'boolean',
}

const checkShape: ShapeOf<ProfileCheck> = { claim: 'string', panel: 'string', examine: 'sync function' }

function nameOf(event: string | EventClass): string {
  const name: unknown = typeof event === 'string' ? event : event?.eventName
  checkArguments('dispatched(event)', ['string'], name)
  return name as string
}

/** Splits Markdown into lines, without empty ones. */
function toExcerpt(markdown: string): string[] {
  const lines = markdown.split('\n').filter(line => line !== '')
  const rest = lines.length - excerptLimit
  return rest <= 0 ? lines : [...lines.slice(0, excerptLimit), `… and ${rest} more lines: toMarkdown() gives them all.`]
}

interface ProfileFailure {
  /** The claim and the facts, in one sentence. */
  readonly message: string
  /** What the test has claimed. */
  readonly expected: unknown
  /** What the profile has. */
  readonly actual: unknown
  /** The part of the profile that shows it. */
  readonly excerpt: readonly string[]
  /** The called method: the stack begins with its caller. */
  readonly caller: (...values: never[]) => unknown
}

/** A claim about a request is false. Test runners show the difference, and the cause. */
export class ProfileAssertionError extends AssertionError {
  /** The panel of the claim: lines of Markdown, at most 60. Each test runner shows the lines of a cause as they are. */
  override readonly cause: Error

  constructor({ actual, caller, excerpt, expected, message }: ProfileFailure) {
    super({ message, expected, actual, operator: caller.name, stackStartFn: caller })
    this.cause = Object.assign(new Error(excerpt.join('\n')), { name: 'Profile', stack: '' })
  }
}
