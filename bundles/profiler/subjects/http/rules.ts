import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { isRetrieval } from '../../../../lib/http/conditions.ts'
import { programOf } from '../../insight/findings/called-rules.ts'
import { describePlaces, findCommonField, findRuns } from '../../insight/findings/finding.ts'
import { formatCount, formatDuration, formatNumber, shorten } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import {
  coveredWorkTime,
  readCalled,
  readStops,
  savingOf,
  stoppedTime,
  sumOfTimes,
  sumWithin,
  workTime,
} from '../../profile/work.ts'
import { patternOf, readCalls, type StoredCall } from './read.ts'

const urlLength = 120

/** Finds repeated HTTP client calls: with the same URL, or with URLs that differ in a value only. */
export const repeatedCallsRule: FindingRule<Profile> = {
  name: 'repeated-calls',
  title: 'HTTP client call repeated',
  find(profile) {
    const { alike, same } = findRepeated(profile)
    const least = readCalls(profile).omitted === 0 ? '' : 'at least '
    return [
      ...same.map(({ calls, name }) => ({
        ...describe(calls),
        problem: `{call} was sent ${least}${formatCount(calls.length, 'time')}${nameSample(profile)}, ${least}${totalTimeOf(calls, profile)}${describeAnswers(calls, profile).text}.`,
        ...describePlaces(
          calls,
          { call: shorten(name, urlLength), ...describeAnswers(calls, profile).values },
          'Send it once and share the response, or cache the response',
        ),
      })),
      ...alike.map(({ calls, name }) => ({
        ...describe(calls),
        problem: `N+1: ${least}${formatNumber(calls.length)} similar calls to {pattern}${findCommonField(calls) && ' in {field}'}${nameSample(profile)}, ${least}${totalTimeOf(calls, profile)}${describeAnswers(calls, profile).text}.`,
        ...describePlaces(
          calls,
          {
            ...{ pattern: shorten(name, urlLength), field: findCommonField(calls) },
            ...describeAnswers(calls, profile).values,
          },
          'Get all values with one call, if the API supports it',
        ),
      })),
    ]
  },
  measure: {
    unit: 'HTTP client calls',
    // Failed calls count: a page whose calls fail is not fixed.
    read: ({ values = {} }, profile) =>
      readCalls(profile).calls.filter(({ method, url }) =>
        values.call === undefined
          ? isOfPattern({ method, url }, values.pattern)
          : shorten(`${method} ${url}`, urlLength) === values.call,
      ).length,
    total: profile => sumWithin(profile, 'calls') + sumWithin(profile, 'queries'),
  },
}

/** Whether a call is one of a pattern, which may be that of the route of the called program. */
function isOfPattern(call: Pick<StoredCall, 'method' | 'url'>, pattern = ''): boolean {
  if (shorten(patternOf(call), urlLength) === pattern) return true
  const [own, parts] = [`${call.method} ${call.url.split('?', 1)}`.split('/'), pattern.split('/')]
  return own.length === parts.length && parts.every((part, index) => part === own[index] || isParameter(part))
}

/** Says which program has answered calls, and by which route, if that is the same one. */
function describeAnswers(calls: readonly StoredCall[], profile: Profile) {
  const made = readCalled(profile).filter(({ index }) => calls.some(call => call.index === index))
  const [answers, ...others] = groupBy(made, each => `${programOf(each)} ${each.summary.route}`).values()
  if (answers === undefined || others.length > 0) return { text: '', values: {} }
  const [first] = answers
  const { route } = first.summary
  const which = answers.length === calls.length ? 'them' : `${formatNumber(answers.length)} of them`
  return {
    text: `; {called-program} answered ${which}${route === null ? '' : ' by its route {called-route}'}`,
    values: { 'called-program': programOf(first), 'called-route': shorten(route ?? '', urlLength) },
  }
}

/** How many calls a rule has seen; empty if all calls of the request were recorded. */
function nameSample(profile: Profile): string {
  const { calls, omitted } = readCalls(profile)
  return omitted === 0
    ? ''
    : ` (${formatNumber(calls.length)} of ${formatNumber(calls.length + omitted)} calls are listed)`
}

function describe(calls: readonly StoredCall[]): Pick<RuleFinding, 'evidence' | 'place' | 'severity'> {
  return {
    severity: 'warning',
    // The first call may be necessary, so the link leads to the second one.
    place: { panel: 'http', anchor: `call-${calls[1]?.index}` },
    evidence: { count: calls.length, time: sumOfTimes(calls) },
  }
}

/** Calls at the same time count once. */
function totalTimeOf(calls: readonly StoredCall[], profile: Profile): string {
  return `${formatDuration(coveredWorkTime(calls, readStops(profile)))} in total`
}

/** Limit of `sequential-calls`: ms that are saved in parallel. A smaller saving is not worth a change. */
const leastSaving = 50

/**
 * Finds HTTP client calls that one listener or controller sent one after another, although they could run in parallel.
 */
export const sequentialCallsRule: FindingRule<Profile> = {
  name: 'sequential-calls',
  title: 'HTTP client calls in sequence',
  find: profile => findSequences(profile).flatMap(run => describeRun(run, profile)),
  measure: { unit: 'ms', read: (_, profile) => Math.max(0, ...findSequences(profile).map(savingOf)) },
}

function findSequences(profile: Profile): readonly StoredCall[][] {
  const { calls } = readCalls(profile)
  const { alike, same } = findRepeated(profile)
  // Repeated calls have their own finding, with better advice.
  const repeated = new Set([...same, ...alike].flatMap(({ calls }) => calls))
  // Calls after the response do not delay the client.
  const end = profile.summary.duration
  const isCandidate = (call: StoredCall) => call.start < end && isAnswered(call) && !repeated.has(call)
  const candidates = followRedirects(calls).filter(hops => hops.every(isCandidate))
  return findRuns(profile, candidates.map(asOne), endOf)
}

/**
 * Groups each call with the calls to the addresses to which it was redirected: those cannot begin before its answer.
 */
function followRedirects(calls: readonly StoredCall[]): StoredCall[][] {
  const chains: StoredCall[][] = []
  for (const call of calls) {
    const chain = chains.find(hops => isRedirectTo(hops.at(-1), call))
    if (chain === undefined) chains.push([call])
    else chain.push(call)
  }
  return chains
}

/**
 * Whether a call was redirected to the address of a later one. Queries are not compared: they may
 * be masked, or changed by the caller.
 */
function isRedirectTo(call: StoredCall | undefined, next: StoredCall): boolean {
  const { head = Infinity, response, status = 0, url = '' } = call ?? {}
  if (!redirects.has(status) || next.start < head) return false
  const [, location] = response?.headers.find(([name]) => name.toLowerCase() === 'location') ?? []
  // Without its address, the next call may be the one to which it leads.
  if (location === undefined) return true
  if (!URL.canParse(`${location}`, url) || !URL.canParse(next.url)) return false
  const [target, address] = [new URL(`${location}`, url), new URL(next.url)]
  return target.host === address.host && target.pathname === address.pathname
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** A call from its start to the end of the last one to which it was redirected. */
function asOne(hops: readonly StoredCall[]): StoredCall {
  const stopped = hops.reduce((sum, call) => sum + call.stopped, 0)
  return { ...(hops[0] as StoredCall), end: hops.at(-1)?.end, stopped }
}

function endOf(call: StoredCall): number {
  return call.end ?? call.start
}

function describeRun(run: readonly StoredCall[], profile: Profile): RuleFinding[] {
  const [time, saving] = [sumOfTimes(run), savingOf(run)]
  const [, second] = run
  if (second === undefined || saving < leastSaving) return []
  const programs = namePrograms(run, profile)
  return [
    {
      severity: 'warning',
      problem: `${run.length} calls ran one after another${programs === '' ? '' : ' ({called-programs})'}, ${formatDuration(time)} in total; the longest took ${formatDuration(time - saving)}.`,
      ...describePlaces(
        run,
        { 'called-programs': programs },
        'If no call needs the response of another, which is not known, start them together and wait with Promise.all()',
      ),
      place: { panel: 'http', anchor: `call-${second.index}` },
      evidence: { count: run.length, time, saving },
    },
  ]
}

/** The most programs that are named. */
const namedPrograms = 4

/** The programs that answered calls, in their order, if all are known. */
function namePrograms(run: readonly StoredCall[], profile: Profile): string {
  const answers = run.map(call => readCalled(profile).find(({ index }) => index === call.index))
  const names = answers.flatMap(answer => (answer === undefined ? [] : programOf(answer)))
  if (names.length < run.length || names.length > namedPrograms) return ''
  return new Set(names).size === 1 ? (names[0] ?? '') : names.join(', then ')
}

/** Limit of `unlimited-call`: ms of a call. Without a limit, a slow server makes the application as slow. */
const longCall = 2000

/**
 * Creates the rule for calls that took at least so many milliseconds, and of which neither a
 * signal nor a timeout was seen.
 */
export function createUnlimitedCallRule(least: number = longCall): FindingRule<Profile> {
  return {
    name: 'unlimited-call',
    title: 'Long HTTP client call, no limit seen',
    find(profile) {
      const timeOf = (call: StoredCall) => waitedTime(call, profile)
      const long = readCalls(profile).calls.filter(call => call.isUnlimited && timeOf(call) >= least)
      return [...groupBy(long, patternOf).values()].map(calls => {
        // A group has at least one call.
        const [worst] = calls.toSorted((one, other) => timeOf(other) - timeOf(one)) as [StoredCall]
        return {
          severity: 'info',
          problem: `{call} took ${formatDuration(timeOf(worst))}; no signal and no timeout option was seen.`,
          ...describePlaces(
            calls,
            { call: shorten(nameOf(worst), urlLength) },
            'Unless the application ends it otherwise, pass it a signal, such as AbortSignal.timeout(1000): a server that never answers holds the request',
          ),
          place: { panel: 'http', anchor: `call-${worst.index}` },
          evidence: { count: calls.length, time: timeOf(worst) },
        }
      })
    },
    measure: {
      unit: 'ms',
      read({ values }, profile) {
        const calls = readCalls(profile).calls.filter(
          call => call.isUnlimited && shorten(nameOf(call), urlLength) === values?.call,
        )
        return Math.max(0, ...calls.map(call => waitedTime(call, profile)))
      },
    },
  }
}

/** The own milliseconds of a call until the response of the request was sent. */
function waitedTime({ end, start }: StoredCall, profile: Profile): number {
  const { duration } = profile.summary
  const waited = { start, end: Math.min(end ?? duration, duration) }
  return workTime({ ...waited, stopped: stoppedTime(waited, readStops(profile)) })
}

/** Limit of `repeated-calls`: equal calls. Two may come from independent parts of a page. */
const leastSame = 3

/**
 * Limit of `repeated-calls`: calls with different values. Fewer may be unrelated; five are
 * probably the items of a list.
 */
const leastAlike = 5

/** Equal or similar calls. */
interface CallGroup {
  /** The method and URL; `:id` replaces the values that differ. */
  readonly name: string
  readonly calls: readonly StoredCall[]
}

/** Finds reading calls with the same URL, and those with URLs that differ in a value only. */
function findRepeated(profile: Profile): {
  readonly same: readonly CallGroup[]
  readonly alike: readonly CallGroup[]
} {
  const answered = readCalls(profile).calls.filter(isAnswered)
  const same = group(answered, nameOf, leastSame)
  const known = new Set(same.flatMap(({ calls }) => calls))
  const others = answered.filter(call => !known.has(call))
  const alike = group(others, patternOf, leastAlike)
  const grouped = new Set(alike.flatMap(({ calls }) => calls))
  const routes = new Map(readCalled(profile).map(({ index, summary }) => [index, summary.route ?? '']))
  const ofRoute = (call: StoredCall) => patternOfRoute(call, routes.get(call.index) ?? '')
  const left = others.filter(call => !grouped.has(call) && ofRoute(call) !== '')
  return { same, alike: [...alike, ...group(left, ofRoute, leastAlike)] }
}

/**
 * The method and address of a call with the parameters of the route that has answered it, such as
 * `GET http://stock/shelves/:name`: what differs in the path is known there. Empty for a route
 * without parameters, or with another path.
 */
function patternOfRoute({ method, url }: StoredCall, route: string): string {
  const [address = ''] = url.split('?', 1)
  const [own, parts] = [address.split('/'), route.split('/')]
  const base = own.slice(0, 1 - parts.length)
  const isOfRoute = parts.every(
    (part, index) => index === 0 || part === own[base.length + index - 1] || isParameter(part),
  )
  return isOfRoute && parts.some(isParameter) ? `${method} ${[...base, ...parts.slice(1)].join('/')}` : ''
}

/** Whether a segment of a path is a parameter, as frameworks write it. One for several segments is not. */
function isParameter(segment: string): boolean {
  return /^(?::[\w-]+|\{[\w-]+\}|\[[\w-]+\])$/.test(segment)
}

function group(calls: readonly StoredCall[], keyOf: (call: StoredCall) => string, least: number): CallGroup[] {
  return [...groupBy(calls, keyOf)]
    .map(([name, calls]) => ({ name, calls }))
    .filter(({ calls }) => calls.length >= least)
}

/** Whether a call reads and was answered: a repeated write is intended, and a retry after a failure is right. */
function isAnswered({ end, error, method, status }: StoredCall): boolean {
  const isRead = isRetrieval(method)
  return isRead && end !== undefined && error === '' && status > 0 && status < 500 && status !== 429
}

function nameOf({ method, url }: StoredCall): string {
  return `${method} ${url}`
}
