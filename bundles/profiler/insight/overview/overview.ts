import { type EventNode, findBundle, findSite, readEventTree } from '../../profile/event-tree.ts'
import {
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatNumber,
  formatPlace,
  readHeader,
  toReadableUrl,
  toTarget,
} from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { hasEventStream, inWordsOf, nameOfUnit, unitOf } from '../../profile/units.ts'
import {
  type CalledRequest,
  coveredWorkTime,
  readCalled,
  readStops,
  sumOfTimes,
  type Work,
  type WorkKind,
  workTime,
} from '../../profile/work.ts'
import { countStreamEvents } from '../../subjects/exchange/read.ts'
import { listenerTime } from '../../subjects/memory/read.ts'
import { describeCachedPage, readGuard } from '../../subjects/router/read.ts'
import { asyncWork, nameAsyncCall, readAsyncCalls } from '../../subjects/time/read.ts'
import { workKinds } from '../../subjects/work.ts'
import { compareWithUsual, type Durations, measureDurations, type TimeRatio } from '../durations.ts'
import { nameAnswerer } from '../findings/called-rules.ts'
import { linkToPlace } from '../findings/finding.ts'
import type { ShownProfile } from '../relatives.ts'
import { readProcessStart } from '../since-edit.ts'
import { nameOfWork } from '../summary-view.ts'
import {
  describeBehind,
  describeMoreFailed,
  findFailure,
  findReason,
  findTrouble,
  hasThrown,
  type Reason,
  type TroubledProfile,
} from './answer.ts'
import {
  isForeign,
  type OverviewPart,
  type Sentence,
  toForeign,
  toParts,
  toPlaceValue,
  toPlainText,
  toValue,
} from './sentence.ts'
import { divideTime, reader, type TimePart } from './time-parts.ts'

/** The answer to the first questions about a request: where its time went, and what is wrong. */
export interface Overview {
  readonly sentence: readonly OverviewPart[]
  /** Why the request has failed; `undefined` if it has not, or if that is not known. */
  readonly reason: Reason | undefined
  /** The longest first. They add up to the duration of the request. */
  readonly parts: readonly TimePart[]
  readonly usual: UsualTime
}

/** Summarizes a profile. Never throws: damaged parts of a profile count as absent. */
export function summarizeProfile(shown: SentenceProfile & Pick<ShownProfile, 'earlier'>): Overview {
  const parts = divideTime(shown.profile)
  const usual = readUsualTime(shown.profile, shown.earlier)
  const reason = findReason(shown.profile)
  return { sentence: writeSentence(shown, parts, usual, reason), reason, parts, usual }
}

/** A part of a request to which much of its time went. */
interface Cause {
  readonly part: TimePart
  /** Such as `51 queries took 380.0 ms`, with a link to the details. The time is that of the part. */
  readonly what: Sentence
  /** The place in the source; empty if it is not known. */
  readonly where: Sentence
}

/** The least share of the time of a cause. */
const leastShare = 0.1

/** Microseconds: a shorter part is no cause. */
const leastTime = 1000

/** When the causes make up this share of the time, no further one is described. */
const enough = 0.8

const causeLimit = 3

/** Describes the longest parts of a request, at most three; none of a short request, or if nothing more is known. */
function describeCauses(parts: readonly TimePart[], shown: SentenceProfile): Cause[] {
  const { profile } = shown
  const whole = profile.summary.duration * 1000
  const causes: Cause[] = []
  let named = 0
  for (const part of parts) {
    const isLong = part.time >= leastTime && part.time >= leastShare * whole
    if (!isLong || causes.length === causeLimit || named >= enough * whole) break
    const description = describePart(part, parts, shown)
    if (description === undefined) continue
    const { subject, text, where = [] } = description
    const link = linkToPlace(part.place, profile.summary.token)
    causes.push({ part, what: [...subject, { text, link }], where })
    named += part.time
  }
  return causes
}

/** The words about a part: `subject` are values without a link, `text` is the link. */
interface Description {
  readonly subject: Sentence
  readonly text: string
  readonly where?: Sentence
}

function describePart(
  part: TimePart,
  parts: readonly TimePart[],
  { children = [], profile }: SentenceProfile,
): Description | undefined {
  const time = formatMicroseconds(part.time)
  const took: Write = (subject, what = '', where = []) => ({
    subject,
    text: `${what} ${verbOf(part, parts, profile)} ${time}`.trim(),
    where,
  })
  const kind = workKinds.find(({ category }) => category === part.of)
  if (kind?.panel === 'http') {
    return describeCalls(kind, profile, readCalled(profile))
  }
  if (kind !== undefined) return describeWork(kind, profile)
  switch (part.of) {
    case 'stopwatch':
      return took([toValue(part.label, causeNameLimit), ' '])
    case 'request':
      return describeSubRequests(
        readEventTree(profile).nodes.filter(({ kind }) => kind === 'request').length,
        children,
        took,
      )
    case 'listener':
      // Those that were only counted.
      if (part.event === '') return took([], 'functions without details')
      return describeListener(part, profile, took)
    case 'controller': {
      const { controller } = profile.summary
      if (!unitOf(profile.summary).isExchange) return took([], 'its own code')
      if (part.event === 'handler') return describeHandler(profile, took)
      return controller === null
        ? took([], 'the controller')
        : took(['controller ', toValue(controller, causeNameLimit), ' '])
    }
    case 'gc':
      return took([], 'garbage collection')
    case 'sending':
      return took([], describeSending(profile))
    case 'client':
      return {
        subject: [],
        text: `the client took ${time} to ${part.label === reader.label ? 'read the response' : 'send the body'}`,
      }
    case 'own':
      return { subject: [], text: inWordsOf(profile.summary, `this request blocked the event loop for ${time}`) }
    case 'blocked':
      return part.place.token === undefined
        ? { subject: [], text: `the event loop was blocked for ${time}`, where: [' (the cause is not known)'] }
        : { subject: [], text: `other work blocked the event loop for ${time}` }
    case 'stopped':
      return { subject: [], text: `the process got no CPU time for ${time}` }
    case 'kernel':
      return part.kind === 'waiting' && !readEventTree(profile).isOfServer
        ? took([], 'arguments of the controller')
        : undefined
    default:
      return undefined
  }
}

function describeSending(profile: Profile): string {
  if (!hasEventStream(profile.summary)) return 'sending'
  const events = countStreamEvents(profile)
  return events === undefined ? 'the event stream' : `the event stream of ${formatCount(events, 'event')}`
}

/** The verb of a part: `waited` or `worked` if there is a part of each kind, and else `took`. */
function verbOf({ event, isShared, kind, of }: TimePart, parts: readonly TimePart[], { summary }: Profile): string {
  if (kind === 'waiting') return 'waited'
  const hasWaited = parts.some(other => other.kind === 'waiting' && other.of === of && other.event === event)
  const others = unitOf(summary).isExchange ? 'requests' : 'work'
  return `${isShared ? `and other ${others} ` : ''}${hasWaited ? 'worked' : 'took'}`
}

/** Writes that a subject took the time of a part. */
type Write = (subject: Sentence, what?: string, where?: Sentence) => Description

/**
 * Describes work by its number and the line that has started most of it; templates by the one with most of the time.
 */
function describeWork(kind: WorkKind, profile: Profile): Description | undefined {
  const work = kind.list(profile)
  const { duration } = profile.summary
  const within = [...work, ...(kind.more?.(profile).periods ?? [])]
    .filter(({ start }) => start < duration)
    .map(each => ({ ...each, end: each.end === undefined ? undefined : Math.min(each.end, duration) }))
  // The time of work that has not ended is not known. Lists and `server-timing` have this time;
  // its part lacks what overlaps others.
  const covered = coveredWorkTime(within, readStops(profile))
  if (covered === 0) return undefined
  const took: Write = (_, what = '', where = []) => ({
    ...{ subject: [], where },
    text: `${what} took ${formatDuration(covered)}`,
  })
  if (kind.count === undefined) return took([], 'templates', nameTemplate(work))
  const count = kind.count(profile)
  const where = describePlace(work, count)
  const name = kind === asyncWork ? nameOfAll(profile) : undefined
  if (name === undefined) return took([], formatCount(count, ...kind.nouns), where)
  const often = count === 1 ? '' : ` in ${formatCount(count, 'call')}`
  return { subject: [toValue(name, causeNameLimit), ' '], text: `took ${formatDuration(covered)}${often}`, where }
}

/** The name of an asynchronous call, or the function of all of them; `undefined` if there are others. */
function nameOfAll(profile: Profile): string | undefined {
  const { calls, more } = readAsyncCalls(profile)
  const [first] = calls
  if (first === undefined || more.ended > 0 || calls.some(({ name }) => name !== first.name)) return undefined
  return calls.length === 1 ? nameAsyncCall(first) : first.name
}

/**
 * Of calls whose profiles are stored, names the program that took most of their time, and follows
 * the longest calls to the last program: why it took so long is the cause.
 */
function describeCalls(kind: WorkKind, profile: Profile, called: readonly CalledRequest[]): Description | undefined {
  const description = describeWork(kind, profile)
  const hops: Hop[] = []
  let cause: Cause | undefined
  for (let hop = findHop(kind, profile, called); hop !== undefined; ) {
    hops.push(hop)
    const { called, profile } = hop.longest
    cause = profile && describeCauses(divideTime(profile), { profile, findings: [] })[0]
    const isWaiting = profile !== undefined && cause?.part.of === kind.category
    hop = isWaiting ? findHop(kind, profile, called) : undefined
  }
  const [first] = hops
  if (description === undefined || first === undefined) return description
  const where: Sentence = [first.isAll ? ', in ' : ', most of it in ', ...nameHops(hops)]
  // Where this process was blocked for long, its calls are shorter for it than their requests are.
  const covered = coveredWorkTime(kind.list(profile), readStops(profile)) * 1000
  const time = cause?.part.time ?? 0
  // In many programs that take the same time each, none is the cause.
  const isCause = time * nearlyAll <= covered && time >= leastShare * covered
  if (cause === undefined || !isCause) return { ...description, where }
  const several = hops.length === 1 ? ` of ${formatNumber(first.count)}` : ''
  const lead = hops.every(({ count }) => count === 1) ? ', where ' : `; in the longest${several}, `
  // Both processes may have been stopped, each in a time of its own.
  const what = cause.what.map(part =>
    typeof part !== 'string' && 'link' in part
      ? { ...part, text: part.text.replace(/^the process /, 'its process ') }
      : part,
  )
  return { ...description, where: [...where, lead, ...toForeign([...what, ...cause.where])] }
}

/** The calls of one program that took most of the time of all calls. */
interface Hop {
  /** That of the program, or of the route of the same one. */
  readonly name: string
  /** Whether the other calls took little of the time. */
  readonly isAll: boolean
  readonly count: number
  readonly longest: CalledRequest
}

function findHop(kind: WorkKind, profile: Profile, called: readonly CalledRequest[]): Hop | undefined {
  const covered = coveredWorkTime(kind.list(profile), readStops(profile))
  const groups = groupBy(called, request => nameAnswerer(request, profile))
  const timeOf = ({ summary }: CalledRequest) => summary.duration
  const sumOf = (group: readonly CalledRequest[]) => group.reduce((sum, each) => sum + timeOf(each), 0)
  const [name = '', most] = [...groups].find(([, group]) => sumOf(group) > covered / 2) ?? []
  if (most === undefined) return undefined
  const longest = most.reduce((one, other) => (timeOf(other) > timeOf(one) ? other : one))
  return { name, isAll: sumOf(most) >= enough * covered, count: most.length, longest }
}

/** More programs of a chain are not named, except for the last one. */
const namedHops = 3

function nameHops(hops: readonly Hop[]): Sentence {
  const names = hops.map(({ name }) => toValue(name, causeNameLimit))
  const left = names.length - namedHops
  const shown = left > 1 ? [...names.slice(0, namedHops - 1), `${left} more`, ...names.slice(-1)] : names
  return toForeign(shown.flatMap((name, index) => (index === 0 ? [name] : [' → ', name])))
}

/** Names the line that started most of the work, as far as there is one. */
function describePlace(work: readonly Work[], count: number): Sentence {
  const groups = [...groupBy(work, ({ caller }) => formatPlace(caller)).values()]
  const most = groups.find(items => sumOfTimes(items) > sumOfTimes(work) / 2) ?? []
  const { file, line } = most[0]?.caller ?? {}
  if (file === undefined) return []
  const place = toPlaceValue(file, line)
  // Of the work that was only counted, the places are not known.
  if (count > work.length) return [`, at least ${formatNumber(most.length)} of them at `, place]
  return most.length === work.length ? [' (', place, ')'] : [', most of it at ', place]
}

const causeNameLimit = 60

/** This share of a time counts as all of it: a listener that has it is the only one that is named. */
const nearlyAll = 0.95

function nameTemplate(pages: readonly Work[]): Sentence {
  const longest = pages.find(page => workTime(page) > sumOfTimes(pages) / 2)
  if (longest === undefined) return []
  return [pages.length === 1 ? ' in ' : ', most of it in ', toValue(longest.template, causeNameLimit)]
}

/** Names the sub-request that took most of their time, and the work of all that are stored. */
function describeSubRequests(count: number, children: readonly ProfileSummary[], took: Write): Description {
  const sumOf = (field: 'duration' | 'queries' | 'calls') => children.reduce((sum, child) => sum + child[field], 0)
  const longest = children.find(({ duration }) => duration > sumOf('duration') / 2)
  const name = longest?.controller ?? longest?.url
  const [queries, calls] = [sumOf('queries'), sumOf('calls')]
  const work = [
    ...(queries > 0 ? [formatCount(queries, 'query', 'queries')] : []),
    ...(calls > 0 ? [formatCount(calls, 'HTTP client call')] : []),
  ].join(' and ')
  return took([], formatCount(count, 'sub-request'), [
    ...(name === undefined ? [] : [count === 1 ? ' in ' : ', most of it in ', toValue(name, causeNameLimit)]),
    ...(work === '' ? [] : [` (with ${work})`]),
  ])
}

/** Names the function that answered for the route of another server, and its line if there is one only. */
function describeHandler(profile: Profile, took: Write): Description {
  const { controller } = profile.summary
  const calls = readEventTree(profile).nodes.filter(({ parent }) => parent?.name === 'handler')
  const [site, ...others] = new Set(calls.map(call => findSite(call, profile)))
  const where = site === undefined || others.length > 0 ? [] : [' (', toPlaceValue(site, undefined), ')']
  return controller === null
    ? took([], 'the handler', where)
    : took(['handler ', toValue(controller, causeNameLimit), ' '], '', where)
}

/** Names the listener with most of the time, as far as there is one. */
function describeListener({ event, kind }: TimePart, profile: Profile, took: Write): Description {
  const calls = readEventTree(profile)
    .nodes.filter(({ kind, parent }) => kind === 'call' && parent?.name === event)
    // The listeners of the profiler are a part of their own.
    .filter(call => findBundle(call, profile) !== 'profiler')
  const timeOf = (call: EventNode) => listenerTime(call, profile)
  const whole = calls.reduce((sum, call) => sum + timeOf(call), 0)
  const longest = calls.find(call => timeOf(call) > whole / 2)
  const isOfFramework = calls.some(call => call.isOfFramework)
  // An application names its own events.
  const all = isOfFramework ? [`${event} `] : ['listeners of ', toValue(event, causeNameLimit), ' ']
  if (longest === undefined) return took(all)
  const site = findSite(longest, profile)
  const name = toValue(longest.name, causeNameLimit)
  const where = site === undefined ? [] : [' (', toPlaceValue(site, undefined), ')']
  if (timeOf(longest) > whole * nearlyAll)
    return took([isOfFramework ? `${event} ` : 'listener ', name, ' '], '', where)
  // Which of several listeners has waited is not known.
  return took(all, '', kind === 'waiting' ? [] : [', most of it in ', name, ...where])
}

/** The profile that a sentence describes. */
type SentenceProfile = TroubledProfile & Pick<ShownProfile, 'sinceEdit'>

/**
 * Writes one sentence about a request: how it ended, its time, compared with the usual time, what has failed, the parts
 * that took longest, and, if nothing has failed, the worst problem. For a failed request its reason is the only
 * problem. The sentence has at most 240 characters: if it would be longer, the least important parts are left out.
 */
function writeSentence(
  shown: SentenceProfile,
  parts: readonly TimePart[],
  usual: UsualTime,
  reason: Reason | undefined,
): readonly OverviewPart[] {
  const { profile } = shown
  const start = [...describeSubject(profile), ...describeEnding(profile)]
  if (reason !== undefined) {
    const failed = [...start, ': ', ...reason.details]
    return fit([[...failed, ...describeMoreFailed(shown), ...describeBehind(profile, reason)], failed, start])
  }

  const ended = [...start, ...describePace(shown, usual)]
  const failure = findFailure(shown)
  const begin = [...ended, ...(failure === undefined ? [] : ['; ', ...failure]), ...describeUnended(profile)]
  // A signal is no consequence of what was done before it, and needs no word of a command that did nothing else.
  const isKilled = profile.collectors.unit?.signal !== undefined
  const causes = describeCauses(isKilled ? parts.filter(({ of }) => of !== 'controller') : parts, shown)
  const [first] = causes
  const problem = failure === undefined ? findTrouble(shown, first?.part.place.panel) : undefined
  const end = problem === undefined ? [] : ['; ', ...problem]
  if (first === undefined) return fit([[...begin, ...end], begin, ended])
  const [, ...others] = causes.map(({ what, where }, index) => [
    isForeign(causes[index - 1]?.where) ? '; here ' : ', ',
    ...what,
    ...where,
  ])
  const withFirst = [...begin, failure === undefined && !isKilled ? ': ' : '; ', ...first.what]
  const version = (count: number) => [...withFirst, ...first.where, ...others.slice(0, count).flat(), ...end]
  const withPlace = [...withFirst, ...first.where]
  const isQuick = problem !== undefined && profile.summary.duration < quick
  const short = isQuick ? [[...begin, ...end]] : [withPlace, [...withFirst, ...end], withFirst]
  return fit([version(2), version(1), version(0), ...short, begin, ended])
}

/** Milliseconds: of a shorter request, a problem says more than what took the time. */
const quick = 100

/** Characters. */
const sentenceLimit = 240

/** Returns the first version that is short enough, otherwise the last one. */
function fit(versions: readonly Sentence[]): readonly OverviewPart[] {
  return versions
    .map(version => toParts([...version, '.']))
    .reduce((chosen, next) => (toPlainText(chosen).length <= sentenceLimit ? chosen : next))
}

const targetLimit = 60

function describeSubject({ summary }: Profile): Sentence {
  const { controller, method, operation, parent, url } = summary
  if (!unitOf(summary).isExchange) return describeUnit(summary)
  const [path = ''] = toTarget(url).split(/[?#]/, 1)
  const name = parent === null || controller === null ? `${method} ${toReadableUrl(path)}` : controller
  const subject = nameOfWork({ route: name, operation })
  return [...(parent === null ? [] : ['Sub-request ']), toValue(subject, targetLimit)]
}

/** Such as `The job mail ship`: the name is recorded, the kind is not. */
function describeUnit(summary: ProfileSummary): Sentence {
  const { noun } = unitOf(summary)
  const name = nameOfUnit(summary).slice(noun.length + 1)
  return [`The ${noun} `, toValue(name, targetLimit)]
}

/** The last work of a command that a signal has ended whose end is not known. */
function describeUnended(profile: Profile): Sentence {
  if (profile.collectors.unit?.signal === undefined) return []
  const open = workKinds.flatMap(({ list, nouns: [noun], panel }) =>
    list(profile).flatMap(work => (work.end === undefined ? { ...work, noun, panel } : [])),
  )
  const last = open.toSorted((one, other) => one.start - other.start).at(-1)
  if (last === undefined) return []
  const { caller, id, noun, panel } = last
  const link = `${profileLink(profile.summary.token, panel)}#${id}`
  const where: Sentence = caller.file === undefined ? [] : [' at ', toPlaceValue(caller.file, caller.line)]
  return ['; ', { text: `its last ${noun}`, link }, ...where, ' has no known end']
}

function describeEnding(profile: Profile): Sentence {
  const { duration, outcome, status } = profile.summary
  const time = formatDuration(duration)
  const isLate = (profile.collectors.exception?.late ?? 0) > 0
  const { isCut, signal } = profile.collectors.unit ?? {}
  if (signal !== undefined)
    return [` was ended by `, toValue(signal, causeNameLimit), ` after ${isCut ? 'more than ' : ''}${time}`]
  if (isCut) return [` did not report its end, which came after more than ${time}`]
  if (outcome === 'crashed')
    return [isLate ? ` took ${time}, and ended the process later` : ` ended with the process after ${time}`]
  if (outcome === 'stream-failed') return [` broke off after ${time}`]
  if (outcome === 'aborted') return [` took ${time} and was aborted by the client`]
  if (outcome === 'failed') return [` failed${describeFailure(profile)}`, ...describeExit(profile), ` after ${time}`]
  if (outcome === 'unfinished') return [` was not complete after ${time}`]
  if (!unitOf(profile.summary).isExchange) return [` took ${time}`]
  if (status === 0) return [` had no response after ${time}`]
  const [protocol] = status === 101 ? readHeader(profile.collectors.response, 'upgrade') : []
  if (protocol !== undefined) return [' was upgraded to ', toValue(protocol, causeNameLimit), ` in ${time}`]
  if (status >= 400)
    return [hasThrown(profile) ? ` failed with ${status} after ${time}` : ` was answered with ${status} in ${time}`]
  const [location] = status >= 300 ? readHeader(profile.collectors.response, 'location') : []
  if (location !== undefined) {
    const guard = readGuard(profile)
    const by: Sentence = guard === undefined ? [] : [' by the guard ', toValue(guard, targetLimit)]
    return [' redirected to ', toValue(toReadableUrl(toTarget(location)), targetLimit), ...by, ` in ${time}`]
  }
  const cachedPage = describeCachedPage(profile)
  return [cachedPage === '' ? ` took ${time}` : ` was answered by the page cache (${cachedPage}) in ${time}`]
}

/** A job that is tried once has no attempts worth a word. */
function describeFailure(profile: Profile): string {
  const { exitCode = 0, job } = profile.collectors.unit ?? {}
  if (exitCode !== 0) return ` with exit code ${exitCode}`
  const { attempt, attempts } = job ?? {}
  if (attempts === undefined) return (attempt ?? 1) === 1 ? '' : ` in attempt ${attempt},`
  return attempts === 1 || attempt === undefined
    ? ''
    : attempt === attempts
      ? ` in all ${attempts} attempts, the last`
      : ` in attempt ${attempt} of ${attempts},`
}

/** Where a command has ended itself. One that has thrown names that line. */
function describeExit(profile: Profile): Sentence {
  const { file, line } = profile.collectors.unit?.exit ?? {}
  return file === undefined || hasThrown(profile) ? [] : [' at ', toPlaceValue(file, line)]
}

/** A request is slower than usual, or, after an edit, faster than before it. */
function describePace({ profile: { summary }, sinceEdit }: SentenceProfile, usual: UsualTime): Sentence {
  const { duration, isCold, outcome } = summary
  if (outcome !== 'complete' || isCold) return []
  const slower = compareWithUsual(duration, usual)
  if (slower?.isSlower) return [`, ${formatFactor(slower)} times as long as usual`]
  const { before, change } = sinceEdit?.times ?? {}
  const faster = change === 'faster' && before ? compareWithUsual(duration, before) : undefined
  return faster === undefined || faster.isSlower ? [] : [`, ${formatFactor(faster)} times as fast as before the edit`]
}

function formatFactor({ factor }: TimeRatio): string {
  return factor < 10 ? factor.toFixed(1).replace('.0', '') : factor.toFixed(0)
}

/** The durations of earlier, warm requests that are similar to the request of a profile, in milliseconds. */
export interface UsualTime extends Durations {
  /**
   * The same on both sides of the start of the process; `undefined` if that is not known, or on a
   * side without requests.
   */
  readonly before: Durations | undefined
  readonly since: Durations | undefined
  /** When the process has started, in milliseconds since 1970; `undefined` if that is not known. */
  readonly start: number | undefined
  /** The latest request before the start of the process. */
  readonly lastBefore: ProfileSummary | undefined
}

/** Reads the usual time of a request from earlier requests, the newest first. Cold requests do not count. */
function readUsualTime(profile: Profile, earlier: readonly ProfileSummary[]): UsualTime {
  const start = readProcessStart(profile)
  const warm = earlier.filter(({ isCold }) => !isCold)
  const before = start === undefined ? [] : warm.filter(({ time }) => time < start)
  const since = start === undefined ? [] : warm.slice(0, warm.length - before.length)
  return {
    ...measureDurations(warm),
    before: before.length === 0 ? undefined : measureDurations(before),
    since: since.length === 0 ? undefined : measureDurations(since),
    start,
    lastBefore: start === undefined ? undefined : earlier.find(({ time }) => time < start),
  }
}
