import { ARGUMENT_INVALID } from '../../../lib/errors/arguments.ts'
import { statusText } from '../../../lib/http/response.ts'
import { type LogLevel, logLevels } from '../../../lib/log/logger.ts'
import { toAmount } from '../../../lib/text/describe-value.ts'
import { nearestNames, suggestNames } from '../../../lib/text/mistakes.ts'
import { writeProblem } from '../insight/findings/finding.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { controllerTimes, type EventNode, readEventTree } from '../profile/event-tree.ts'
import { readExceptions, type StoredException } from '../profile/exceptions.ts'
import { formatCount, formatDuration, shorten, toOneLine, toTarget } from '../profile/format.ts'
import { groupBy } from '../profile/group-by.ts'
import type { Profile } from '../profile/profile.ts'
import { coveredWorkTime, readStops } from '../profile/work.ts'
import { readCalls } from '../subjects/http/read.ts'
import { readLogs } from '../subjects/logs/read.ts'
import { countQueries, readQueries, type StoredQuery } from '../subjects/queries/read.ts'
import { readRenders } from '../subjects/templates/read.ts'
import { readStopwatch } from '../subjects/time/read.ts'

/**
 * A claim about a request, which is checked against its profile. `ProfileExpectation.satisfied` accepts additional
 * ones, for example about the data of an application's collector.
 */
export interface ProfileCheck {
  /** Completes "Expected the request to …": `render the template "cart"`. */
  readonly claim: string
  /** The panel that a failure shows; by default the whole profile. */
  readonly panel?: string
  /** Checks the claim. */
  examine(subject: ShownProfile): Examination
}

/** The result of a `ProfileCheck`: whether its claim is true, and the facts for the message. */
export interface Examination {
  /** Whether the claim is true. */
  readonly holds: boolean
  /** The expected and the actual value: test runners show the difference. */
  readonly expected: unknown
  /** What the profile has. */
  readonly actual: unknown
  /** A clause that states the facts: `it rendered cart, layout`. */
  readonly found: string
}

/** Checks the status of the response. */
export function checkStatus(wanted: number): ProfileCheck {
  return {
    claim: `be answered with ${toStatus(wanted)}`,
    examine({ profile }) {
      const { exception, status } = profile.summary
      const found = `it was answered with ${toStatus(status)}${exception === null ? '' : `, after ${exception} was thrown`}`
      return { holds: status === wanted, expected: wanted, actual: status, found }
    },
  }
}

/** Checks the matched route. */
export function checkRoute(wanted: string): ProfileCheck {
  return {
    claim: `match the route "${wanted}"`,
    panel: 'router',
    examine({ profile }) {
      const { route } = profile.summary
      const found = route === null ? 'it matched none' : `it matched "${route}"`
      return { holds: route === wanted, expected: wanted, actual: route, found }
    },
  }
}

/** Checks for an exception, also as the cause of another one. Without a class and a message, any exception counts. */
export function checkThrown(name: string | undefined, message: string | RegExp | undefined): ProfileCheck {
  const says = message === undefined ? '' : ` that says ${typeof message === 'string' ? `"${message}"` : message}`
  return {
    claim: `throw ${name ?? 'something'}${says}`,
    panel: 'exception',
    examine({ profile }) {
      const exceptions = readExceptions(profile)
      const isWanted = (exception: StoredException) =>
        (name === undefined || exception.name === name) &&
        (message === undefined || matches(exception.message, message))
      const actual = exceptions.map(({ message, name }) => `${name}: ${message}`)
      const found = actual.length === 0 ? 'it threw nothing' : `it threw ${toEnumeration(actual)}`
      return { holds: exceptions.some(isWanted), expected: `${name ?? 'something'}${says}`, actual, found }
    },
  }
}

/** Checks whether the session was read or started. */
export const sessionCheck: ProfileCheck = {
  claim: 'start the session',
  panel: 'request',
  examine({ profile }) {
    const actual = profile.collectors.session?.metadata !== undefined
    return { holds: actual, expected: true, actual, found: `it did${actual ? '' : ' not'}` }
  },
}

/** Checks for renders of a template as a page or partial; without a name, of any template. */
export function checkRendered(template: string | undefined, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(template === undefined ? 'render templates' : `render the template ${template}`, wanted),
    panel: 'templates',
    examine({ profile }) {
      const names = readRenders(profile).all.map(({ name }) => name)
      const actual = template === undefined ? names : names.filter(name => name === template)
      const found = names.length === 0 ? 'it rendered none' : `it rendered ${toEnumeration(names)}`
      return examineCount({ wanted, actual: actual.length, found })
    },
  }
}

/** Checks for log messages of at least a level, optionally with a text or pattern. */
export function checkLogged(
  least: LogLevel,
  text: string | RegExp | undefined,
  wanted: number | undefined,
): ProfileCheck {
  const says = text === undefined ? '' : ` that says ${typeof text === 'string' ? `"${text}"` : text}`
  if (!logLevels.includes(least)) {
    const mistake = `there is no level "${least}"${suggestNames(least, logLevels) || `: use ${logLevels.join(', ')}`}`
    throw new ARGUMENT_INVALID(['profile.logged(level)', mistake])
  }
  const levels = logLevels.slice(logLevels.indexOf(least))
  const kind = levels.length === 1 ? least : `${least} or above`
  return {
    claim: withCount(`log a message of level ${kind}${says}`, wanted),
    panel: 'logger',
    examine({ profile }) {
      const { logs } = readLogs(profile)
      const loud = logs.filter(({ level }) => levels.includes(level))
      const wantedLogs = loud.filter(({ message }) => text === undefined || matches(message, text))
      const lines = loud.map(({ level, message }) => `${level} "${message}"`)
      const found = lines.length === 0 ? `it logged nothing of level ${kind}` : `it logged ${toEnumeration(lines)}`
      return examineCount({ wanted, actual: wantedLogs.length, found })
    },
  }
}

/** Checks for HTTP client calls. With a text or pattern, only those to matching URLs count. */
export function checkSent(url: string | RegExp | undefined, wanted: number | undefined): ProfileCheck {
  const where = url === undefined ? '' : ` to ${url}`
  return {
    claim: wanted === undefined ? `send requests${where}` : `send ${toAmount(wanted, 'request')}${where}`,
    panel: 'http',
    examine({ profile }) {
      const { calls, omitted } = readCalls(profile)
      const matching = calls.filter(call => url === undefined || matches(call.url, url))
      // The URLs of omitted calls are unknown, so they count only without a URL.
      const actual = matching.length + (url === undefined ? omitted : 0)
      const lines = calls.map(call => `${call.method} ${call.url} (${call.outcome.text})`)
      const found = lines.length === 0 ? 'it sent none' : `it sent ${toEnumeration(lines)}`
      return examineCount({ wanted, actual, found })
    },
  }
}

/** Checks for sub-requests. */
export function checkSubRequests(wanted: number | undefined): ProfileCheck {
  return {
    claim: wanted === undefined ? 'make sub-requests' : `make ${toAmount(wanted, 'sub-request')}`,
    panel: 'events',
    examine({ children, profile }) {
      const actual = profile.children.length
      const names = children.map(({ controller, status, url }) => `${controller ?? toTarget(url)} (${status})`)
      return examineCount({ wanted, actual, found: actual === 0 ? 'it made none' : `it made ${toEnumeration(names)}` })
    },
  }
}

/** Whether a text contains another, or matches a pattern. */
function matches(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : text.search(wanted) !== -1
}

function toStatus(status: number): string {
  return status === 0 ? 'nothing' : `${status} ${statusText(status)}`
}

/** Checks the duration of a part of the request, in milliseconds. */
export function checkDuration(limit: number, part: string): ProfileCheck {
  return {
    claim: `take at most ${limit} ms${part === 'request' ? '' : ` for ${part}`}`,
    panel: 'time',
    examine({ profile }) {
      const parts = measureParts(profile)
      const actual = parts.get(part)
      if (actual !== undefined) {
        return {
          holds: actual <= limit,
          expected: `at most ${limit}`,
          actual,
          found: `it took ${formatDuration(actual)}`,
        }
      }
      const known = [...parts.keys()]
      const found = `nothing was measured of it, but of ${toEnumeration(known)}`
      return { holds: false, expected: part, actual: known, found }
    },
  }
}

/**
 * Returns the durations of all parts of a request by name, in milliseconds: `request`, `controller`, `templates`,
 * `calls`, `queries`, then the names of the stopwatch, the events and the listeners.
 */
function measureParts(profile: Profile): ReadonlyMap<string, number> {
  const { nodes, roots } = readEventTree(profile)
  const { duration } = profile.summary
  const parts = new Map([['request', duration]])
  const add = (name: string, milliseconds: number) => parts.set(name, (parts.get(name) ?? 0) + milliseconds)
  for (const time of controllerTimes(roots, duration * 1000)) add('controller', time / 1000)
  for (const page of readRenders(profile).pages) add('templates', page.duration)
  const { calls } = readCalls(profile)
  if (calls.length > 0) add('calls', coveredWorkTime(calls, readStops(profile)))
  const { database } = readQueries(profile)
  if (database.queries.length > 0) add('queries', database.covered)
  for (const { duration, name } of readStopwatch(profile).measured) add(name, duration / 1000)
  for (const { duration = 0, kind, name } of nodes) if (kind !== 'request') add(name, duration / 1000)
  return parts
}

/** Checks for dispatches of an event. */
export function checkDispatched(event: string, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`dispatch ${event}`, wanted),
    panel: 'events',
    examine({ profile }) {
      const names = namesOf(profile, 'dispatch')
      const actual = names.filter(name => name === event).length
      const others = `it dispatched ${toEnumeration([...new Set(names)])}`
      return examineCount({ wanted, actual, found: actual === 0 ? others : `it was dispatched ${toTimes(actual)}` })
    },
  }
}

/** Checks for calls of a listener. A class name includes all its methods. */
export function checkCalled(listener: string, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`call the listener ${listener}`, wanted),
    panel: 'events',
    examine(subject) {
      const isWanted = (name: string) => name === listener || name.startsWith(`${listener}.`)
      const actual = namesOf(subject.profile, 'call').filter(isWanted).length
      const found = actual > 0 ? `it was called ${toTimes(actual)}` : whyNotCalled(listener, isWanted, subject)
      return examineCount({ wanted, actual, found })
    },
  }
}

/** Checks the order of dispatches or calls. Others may be between them. */
export function checkOrder(kind: 'dispatch' | 'call', names: readonly string[]): ProfileCheck {
  return {
    claim: `${kind} in this order: ${names.join(', ')}`,
    panel: 'events',
    examine({ profile }) {
      const all = namesOf(profile, kind)
      // Other names would hide the difference.
      const actual = all.filter(name => names.includes(name))
      const found = actual.length === 0 ? 'there was none of them' : `the order was ${toEnumeration(actual)}`
      return { holds: standInOrder(names, all), expected: names, actual, found }
    },
  }
}

function namesOf(profile: Profile, kind: EventNode['kind']): string[] {
  return readEventTree(profile).nodes.flatMap(node => (node.kind === kind ? [node.name] : []))
}

function whyNotCalled(listener: string, isWanted: (name: string) => boolean, { profile }: ShownProfile): string {
  const { listeners = [] } = profile.process.events ?? {}
  const registered = [...new Set(listeners.map(({ name }) => name))]
  if (!registered.some(isWanted)) {
    const nearest = nearestNames(listener, registered)
    const hint = nearest.length === 0 ? '' : `: did you mean ${toEnumeration(nearest)}?`
    return `no listener of that name is registered${hint}`
  }
  const skipping = readEventTree(profile).nodes.find(
    ({ details, kind }) => kind === 'dispatch' && details.some(isWanted),
  )
  const last = skipping?.children.at(-1)
  return last === undefined
    ? 'it was not'
    : `${last.name} has ${last.hasThrown ? 'thrown' : `stopped ${skipping?.name}`} before`
}

/** Checks for findings of any rule, or of the given one. */
export function checkFindings(rule: string | undefined, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`have findings${rule === undefined ? '' : ` of the rule ${rule}`}`, wanted),
    panel: 'findings',
    examine({ findings }) {
      const matching = findings.filter(finding => rule === undefined || finding.rule === rule)
      const lines = findings.map(finding => `${finding.rule} (${writeProblem(finding)})`)
      const found = lines.length === 0 ? 'it had none' : `it had ${toEnumeration(lines)}`
      return examineCount({ wanted, actual: matching.length, found })
    },
  }
}

/** A counted fact. */
interface Count {
  /** `undefined` means at least one. */
  readonly wanted: number | undefined
  readonly actual: number
  readonly found: string
}

/** Compares a number with the wanted number; by default it must be at least one. */
function examineCount({ actual, found, wanted }: Count): Examination {
  const expected = wanted ?? 'at least 1'
  return { holds: wanted === undefined ? actual > 0 : actual === wanted, expected, actual, found }
}

/** Adds the wanted number to a claim: `call it`, `call it twice`. */
function withCount(claim: string, count: number | undefined): string {
  return count === undefined ? claim : `${claim} ${toTimes(count)}`
}

/** Writes a number of times: `once`, `3 times`. */
function toTimes(count: number): string {
  return ['not at all', 'once', 'twice'][count] ?? `${count} times`
}

const listLimit = 20

/** Joins texts with commas. Texts beyond the limit are only counted. */
function toEnumeration(texts: readonly string[]): string {
  const rest = texts.length - listLimit
  return [...texts.slice(0, listLimit), ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
}

/** Whether a list contains the names in this order; other names may be between them. */
function standInOrder(names: readonly string[], list: readonly string[]): boolean {
  let next = 0
  for (const name of list) if (name === names[next]) next++
  return next === names.length
}

/** Describes queries, and how many of them are expected: by default at least one. */
export interface RanQueries {
  /** The exact number of these queries. */
  readonly count?: number
  /** The highest number of these queries. */
  readonly atMost?: number
  /** Queries of databases, or of caches. The default is `database`; with a `system`, both. */
  readonly kind?: 'database' | 'cache'
  /** Queries of this system: `postgresql`, `mysql`, `sqlite`, `redis`. */
  readonly system?: string
  /** A part of the statement, which has `?` for its literals, or a pattern for it. */
  readonly text?: string | RegExp
  /** With `true`, only queries that repeat an earlier one with the same statement and the same values. */
  readonly isRepeated?: boolean
}

/** Checks for queries of databases or caches. */
export function checkRan(wanted: RanQueries): ProfileCheck {
  const { atMost, count, system, text } = wanted
  const kind = wanted.kind ?? (system === undefined ? 'database' : undefined)
  const of = [...(system === undefined ? [] : [` of ${system}`]), ...(text === undefined ? [] : [` like ${text}`])]
  return {
    claim: `run ${describeAmount(wanted, kind)}${of.join('')}`,
    panel: kind ?? 'database',
    examine({ profile }) {
      const queries = readQueries(profile).queries.filter(query => kind === undefined || query.kind === kind)
      const actual = countMatching(queries, wanted, profile, kind)
      const found = queries.length === 0 ? 'it ran none' : `it ran ${actual}; in all ${listShapes(queries)}`
      return atMost === undefined
        ? examineCount({ wanted: count, actual, found })
        : examineMaximum({ atMost, actual, found })
    },
  }
}

type Kind = StoredQuery['kind'] | undefined

function describeAmount({ atMost, count, isRepeated }: RanQueries, kind: Kind): string {
  const adjectives = [isRepeated === true ? 'repeated ' : '', kind === undefined ? '' : `${kind} `].join('')
  const [one, many] = [`${adjectives}query`, `${adjectives}queries`]
  if (atMost !== undefined) return `at most ${formatCount(atMost, one, many)}`
  return count === undefined ? many : formatCount(count, one, many)
}

function countMatching(queries: readonly StoredQuery[], wanted: RanQueries, profile: Profile, kind: Kind): number {
  const { isRepeated, system, text } = wanted
  const matching = queries.filter(
    query =>
      (system === undefined || query.system === system) &&
      (text === undefined || matches(query.text, text)) &&
      (isRepeated !== true || query.twin !== undefined),
  )
  // Only the number of omitted queries is known, so they count only without a condition.
  const isAny = kind !== undefined && system === undefined && text === undefined && isRepeated !== true
  return isAny ? countQueries(kind, profile) : matching.length
}

function examineMaximum({ actual, atMost, found }: { actual: number; atMost: number; found: string }): Examination {
  return { holds: actual <= atMost, expected: `at most ${atMost}`, actual, found }
}

const statementLength = 200

function listShapes(queries: readonly StoredQuery[]): string {
  const shapes = [...groupBy(queries, ({ text }) => text)].map(
    ([text, { length }]) => `${length} × ${shorten(toOneLine(text), statementLength)}`,
  )
  return toEnumeration(shapes)
}
