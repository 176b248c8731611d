import type { Caller } from '../../../../lib/stack/callers.ts'
import { coveredCallTime, durationOf, readCalls } from '../../profile/calls.ts'
import { type EventNode, findBundle, findSite, ownTime, readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatMicroseconds, formatPlace } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { queryDuration, readQueries } from '../../profile/queries.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import { linkToPlace } from '../findings/finding.ts'
import { type Sentence, toPlaceValue, toValue } from './sentence-parts.ts'
import type { TimePart } from './time-parts.ts'

/** A part of a request to which much of its time went. */
export interface Cause {
  readonly part: TimePart
  /** Such as `51 queries took 380.0 ms`, with a link to the details. The time is that of the part. */
  readonly what: Sentence
  /** The place in the source; empty if it is not known. */
  readonly where: Sentence
}

/** A smaller part is no cause. */
const leastShare = 0.1

/** Microseconds: a shorter part is no cause. */
const leastTime = 1000

/** When the causes make up this share of the time, no further one is described. */
const enough = 0.8

const causeLimit = 3

/** Describes the longest parts of a request, at most three; none of a short request, or if nothing more is known. */
export function describeCauses(parts: readonly TimePart[], profile: Profile): Cause[] {
  const whole = profile.summary.duration * 1000
  const causes: Cause[] = []
  let named = 0
  for (const part of parts) {
    const isLong = part.time >= leastTime && part.time >= leastShare * whole
    if (!isLong || causes.length === causeLimit || named >= enough * whole) break
    const description = describePart(part, parts, profile)
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

function describePart(part: TimePart, parts: readonly TimePart[], profile: Profile): Description | undefined {
  const time = formatMicroseconds(part.time)
  const took: Write = (subject, what = '', where = []) => ({
    subject,
    text: `${what} ${verbOf(part, parts)} ${time}`.trim(),
    where,
  })
  switch (part.of) {
    case 'database':
    case 'cache':
      return describeQueries(part.of, profile, took)
    case 'http':
      return describeCalls(profile, took)
    case 'template':
      return took([], 'templates', describeTemplates(profile))
    case 'stopwatch':
      return took([toValue(part.label, nameLimit), ' '])
    case 'request':
      return took([], formatCount(readEventTree(profile).nodes.filter(isSubRequest).length, 'sub-request'))
    case 'listener':
      return describeListener(part, profile, took)
    case 'controller': {
      const { controller } = profile.summary
      return controller === null
        ? took([], 'the controller')
        : took(['controller ', toValue(controller, nameLimit), ' '])
    }
    case 'gc':
      return took([], 'garbage collection')
    case 'sending':
      return took([], 'sending')
    case 'blocked':
      return {
        subject: [],
        text: `${part.place.token === undefined ? 'work that was not recorded' : 'other work'} blocked the event loop for ${time}`,
      }
    case 'kernel':
      return part.kind === 'waiting' ? took([], 'arguments of the controller') : undefined
    case 'unknown':
    case 'waiting':
      return undefined
  }
}

function isSubRequest({ kind }: EventNode): boolean {
  return kind === 'request'
}

/** Of a part that waited and worked, both are said. */
function verbOf({ event, isShared, kind, of }: TimePart, parts: readonly TimePart[]): string {
  if (kind === 'waiting') return 'waited'
  const hasWaited = parts.some(other => other.kind === 'waiting' && other.of === of && other.event === event)
  return `${isShared ? 'and other requests ' : ''}${hasWaited ? 'worked' : 'took'}`
}

/** Writes that a subject took the time of a part. */
type Write = (subject: Sentence, what?: string, where?: Sentence) => Description

function describeQueries(kind: 'database' | 'cache', profile: Profile, took: Write): Description | undefined {
  const { covered, queries } = readQueries(profile)[kind]
  const { cacheCalls, queries: count } = profile.summary
  // The time of a query that has not ended is not known.
  if (covered === 0) return undefined
  const what =
    kind === 'cache'
      ? formatCount(Math.max(queries.length, cacheCalls), 'cache call')
      : formatCount(Math.max(queries.length, count), 'query', 'queries')
  return took([], what, describePlace(queries.map(query => ({ caller: query.caller, time: queryDuration(query) }))))
}

function describeCalls(profile: Profile, took: Write): Description | undefined {
  const { calls, omitted } = readCalls(profile)
  if (coveredCallTime(calls) === 0) return undefined
  const where = describePlace(calls.map(call => ({ caller: call.caller, time: durationOf(call) })))
  return took([], formatCount(calls.length + omitted, 'HTTP client call'), where)
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

/** A listener with this share of the time of all is the only one that is named. */
const nearlyAll = 0.95

function describeTemplates(profile: Profile): Sentence {
  const { pages } = readRenders(profile)
  const time = renderTime(pages)
  const longest = pages.find(({ duration }) => duration > time / 2)
  if (longest === undefined) return []
  return [pages.length === 1 ? ' in ' : ', most of it in ', toValue(longest.name, nameLimit)]
}

/** Names the listener with most of the time, as far as there is one. */
function describeListener({ event, kind }: TimePart, profile: Profile, took: Write): Description {
  const calls = readEventTree(profile)
    .nodes.filter(({ kind, parent }) => kind === 'call' && parent?.name === event)
    // These are a part of their own.
    .filter(call => findBundle(call, profile) !== 'profiler')
  const whole = calls.reduce((sum, call) => sum + ownTime(call), 0)
  const longest = calls.find(call => ownTime(call) > whole / 2)
  // An application names its own events.
  const all = ['listeners of ', toValue(event, nameLimit), ' ']
  if (longest === undefined) return took(all)
  const site = findSite(longest, profile)
  const name = toValue(longest.name, nameLimit)
  const where = site === undefined ? [] : [' (', toPlaceValue(site, undefined), ')']
  if (ownTime(longest) > whole * nearlyAll) return took(['listener ', name, ' '], '', where)
  // Which of several listeners has waited is not known.
  return took(all, '', kind === 'waiting' ? [] : [', most of it in ', name, ...where])
}
