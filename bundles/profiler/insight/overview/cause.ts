import type { Caller } from '../../../../lib/stack/callers.ts'
import { coveredCallTime, durationOf, readCalls } from '../../profile/calls.ts'
import type { MeasuredEvent } from '../../profile/event-data.ts'
import { controllerTimes, findKernelGaps, type KernelGap, readHandledTime } from '../../profile/event-outline.ts'
import { type EventNode, findSite, readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatDuration, formatMicroseconds, formatPlace } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { joinPeriods, totalOf } from '../../profile/periods.ts'
import type { Profile } from '../../profile/profile.ts'
import { queryDuration, readQueries } from '../../profile/queries.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import { type Sentence, toPlaceValue, toValue } from './sentence-parts.ts'
import type { TimePart } from './time-parts.ts'

/** Where most of the time of a request went. */
export interface Cause {
  /** Such as `51 queries took 380.0 ms`. The numbers are those of the panel. */
  readonly what: Sentence
  /** The place in the source; empty if it is not known. */
  readonly where: Sentence
}

/** A smaller part is no cause. */
const leastShare = 0.3

/** Microseconds: below it, nothing is worth a word. */
const leastTime = 1000

/** Describes the longest part of a request; `undefined` if it is too short, or nothing more is known of it. */
export function describeCause(part: TimePart, profile: Profile): Cause | undefined {
  const { time } = part
  if (time < leastTime || time < leastShare * profile.summary.duration * 1000) return undefined
  switch (part.kind) {
    case 'database':
      return describeQueries(profile, 'database', 'query', 'queries')
    case 'cache':
      return describeQueries(profile, 'cache', 'cache call', 'cache calls')
    case 'http':
      return describeCalls(profile)
    case 'template':
      return describeTemplates(profile)
    case 'stopwatch':
      return { what: [toValue(part.label, nameLimit), ` took ${formatMicroseconds(time)}`], where: [] }
    case 'request':
      return describeSubRequests(profile)
    case 'listener':
      return describeListener(part, profile)
    case 'controller':
      return describeController(profile, 0)
    case 'waiting':
      if (part.event !== '') return describeListener(part, profile)
      return part.place.panel === 'templates' ? describeTemplates(profile) : describeController(profile, time)
    case 'gc':
      return without(`garbage collection took ${formatMicroseconds(time)}`)
    case 'blocked':
      return without(`other work blocked the event loop for ${formatMicroseconds(time)}`)
    case 'sending':
      return without(`sending took ${formatDuration(profile.summary.duration - readHandledTime(profile))}`)
    case 'kernel':
    case 'unknown':
      return undefined
  }
}

function without(what: string): Cause {
  return { what: [what], where: [] }
}

function describeQueries(profile: Profile, kind: 'database' | 'cache', one: string, many: string): Cause | undefined {
  const { covered, queries } = readQueries(profile)[kind]
  const { cacheCalls, queries: count } = profile.summary
  if (covered === 0) return undefined
  const total = Math.max(queries.length, kind === 'cache' ? cacheCalls : count)
  return {
    what: [`${formatCount(total, one, many)} took ${formatDuration(covered)}`],
    where: describePlace(queries.map(query => ({ caller: query.caller, time: queryDuration(query) }))),
  }
}

function describeCalls(profile: Profile): Cause | undefined {
  const { calls, omitted } = readCalls(profile)
  const covered = coveredCallTime(calls)
  if (covered === 0) return undefined
  return {
    what: [`${formatCount(calls.length + omitted, 'HTTP client call')} took ${formatDuration(covered)}`],
    where: describePlace(calls.map(call => ({ caller: call.caller, time: durationOf(call) }))),
  }
}

/** Work that a line of the application started. */
interface CalledWork {
  readonly caller: Caller
  readonly time: number
}

/** Names the line that started most of the work, as far as there is one. */
function describePlace(work: readonly CalledWork[]): Sentence {
  const timeOf = (items: readonly CalledWork[]) => items.reduce((sum, { time }) => sum + time, 0)
  const groups = [...groupBy(work, ({ caller }) => formatPlace(caller)).values()]
  const most = groups.find(items => timeOf(items) > timeOf(work) / 2) ?? []
  const { file, line } = most[0]?.caller ?? {}
  if (file === undefined) return []
  const place = toPlaceValue(file, line)
  return most.length === work.length ? [' (', place, ')'] : [', most of it at ', place]
}

const nameLimit = 60

function describeTemplates(profile: Profile): Cause {
  const { pages } = readRenders(profile)
  const time = renderTime(pages)
  const longest = pages.find(({ duration }) => duration > time / 2)
  return {
    what: [`templates took ${formatDuration(time)}`],
    where:
      longest === undefined ? [] : [pages.length === 1 ? ' in ' : ', most of it in ', toValue(longest.name, nameLimit)],
  }
}

function describeSubRequests(profile: Profile): Cause {
  const { duration: whole } = profile.summary
  const requests = readEventTree(profile).nodes.filter(({ kind }) => kind === 'request')
  const periods = requests.map(({ duration = whole * 1000, start }) => ({ start, duration }))
  return without(
    `${formatCount(requests.length, 'sub-request')} took ${formatMicroseconds(totalOf(joinPeriods(periods)))}`,
  )
}

function describeListener({ event, time }: TimePart, profile: Profile): Cause {
  const calls = readEventTree(profile).nodes.filter(({ kind, parent }) => kind === 'call' && parent?.name === event)
  const longest = calls.find(({ duration = 0 }) => duration > time / 2)
  if (longest === undefined) return without(`listeners of ${event} took ${formatMicroseconds(time)}`)
  const { duration = 0, name } = longest
  const site = findSite(longest, profile)
  return {
    what: ['listener ', toValue(name, nameLimit), ` took ${formatMicroseconds(duration)}`],
    where: site === undefined ? [] : [' (', toPlaceValue(site, undefined), ')'],
  }
}

/** `waited` is the time in microseconds in which the controller only waited, as far as it is known. */
function describeController(profile: Profile, waited: number): Cause {
  const { controller, duration } = profile.summary
  const { roots } = readEventTree(profile)
  const time = controllerTimes(roots, duration * 1000).reduce((sum, time) => sum + time, 0)
  const name = controller === null ? ['the controller'] : ['controller ', toValue(controller, nameLimit)]
  const remark = waited > time / 2 ? ', most of it waiting' : ''
  const measured = findLongestMeasurement(profile, roots)
  const where =
    measured === undefined || measured.duration < leastShare * time
      ? []
      : [`, ${formatMicroseconds(measured.duration)} of it in `, toValue(measured.name, nameLimit)]
  return { what: [...name, ` took ${formatMicroseconds(time)}${remark}`], where }
}

/** Finds the longest measurement of the stopwatch that began in a controller. */
function findLongestMeasurement({ collectors }: Profile, roots: readonly EventNode[]): MeasuredEvent | undefined {
  const controllers = findKernelGaps(roots).filter(({ name }) => name === 'controller')
  const isIn = (start: number, gap: KernelGap) => start >= gap.start && start <= gap.start + (gap.duration ?? start)
  return collectors.time?.measured
    .filter(({ periods }) => periods.some(([start]) => controllers.some(gap => isIn(start, gap))))
    .toSorted((one, other) => other.duration - one.duration)[0]
}
