import { severityOf } from '../../../../lib/log/create-logger.ts'
import {
  type EventNode,
  type EventTree,
  findKernelGaps,
  isKernelDispatch,
  type KernelGap,
  readEventTree,
} from '../../profile/event-tree.ts'
import { formatNumber, toTarget } from '../../profile/format.ts'
import { describeSubRequest, profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { nameOfUnit } from '../../profile/units.ts'
import {
  type CalledRequest,
  endOf,
  joinPeriods,
  type Period,
  readCalled,
  subtractPeriods,
  totalOf,
  type Work,
  type WorkKind,
} from '../../profile/work.ts'
import { pathPatternOf, readFields } from '../../subjects/graphql/read.ts'
import { readLogs } from '../../subjects/logs/read.ts'
import { readStopwatch } from '../../subjects/time/read.ts'
import { awaitedWork, ownWork, workKinds } from '../../subjects/work.ts'
import { isError } from '../summary-view.ts'

/** Something that took time, once or several times, with the spans within it. */
export interface TimelineSpan {
  readonly name: string
  /** The text that the name shortens, such as a statement; empty if it shortens none. */
  readonly text: string
  readonly category: Category
  readonly periods: readonly Period[]
  /** The page with its details; empty when there is none. */
  readonly link: string
  /** A word about its kind, such as a status. */
  readonly note: string
  /** `threw`, `failed`, `not finished`; empty when nothing went wrong. */
  readonly problem: string
  readonly children: TimelineSpan[]
}

/** Creates a span. Fields that are not given are empty. */
export function createSpan(
  { category, name, periods }: Pick<TimelineSpan, 'category' | 'name' | 'periods'>,
  { children = [], link = '', note = '', problem = '', text = '' }: Partial<TimelineSpan> = {},
): TimelineSpan {
  return { name, text, category, periods, link, note, problem, children }
}

/** The place of a request on the time axis. */
interface RequestFrame {
  readonly token: string
  /** Microseconds from the start of the main request to the start of this one. */
  readonly offset: number
  /** The name of the controller; empty if it is not known. */
  readonly controller: string
  /** Microseconds until this request was handled. A span without an end is drawn until then. */
  readonly handled: number
}

/** A kind of spans. The name is also a class and a parameter of the page. */
export type Category =
  | WorkKind['category']
  | ('kernel' | 'event' | 'listener' | 'controller' | 'field' | 'service' | 'stopwatch' | 'request')

/** The kinds of spans, in the order of their lanes. */
export const categories: readonly { readonly name: Category; readonly label: string }[] = [
  { name: 'kernel', label: 'Kernel' },
  { name: 'event', label: 'Application events' },
  { name: 'listener', label: 'Listeners' },
  { name: 'controller', label: 'Controller' },
  { name: 'field', label: 'GraphQL fields' },
  ...[...ownWork, ...awaitedWork].map(({ category, label }) => ({ name: category, label })),
  { name: 'service', label: 'Other services' },
  { name: 'stopwatch', label: 'Stopwatch' },
  { name: 'request', label: 'Sub-Requests' },
]

/**
 * The categories of work outside of the process or of the request, which the spans around them
 * wait for, and what these wait for.
 */
export const awaitedCategories: ReadonlyMap<Category, string> = new Map([
  ...awaitedWork.map(({ category, label }) => [category, toWords(label)] as const),
  ['service', 'other services'],
  ['request', 'sub-requests'],
])

/** Writes a label within a sentence: its first letter is small, except in an abbreviation. */
function toWords(label: string): string {
  return label.replace(/^[A-Z](?=[a-z])/, letter => letter.toLowerCase())
}

/** Whether a moment lies within a period. */
function holds(period: Period | undefined, moment: number): boolean {
  return period !== undefined && period.start <= moment && moment < endOf(period)
}

/** The spans of a request, and its warnings. */
interface RequestSpans {
  readonly root: TimelineSpan
  readonly logs: readonly LogMark[]
  /** The profiles that have these spans: of the request, and of its sub-requests. */
  readonly profiles: readonly Profile[]
}

/** The most requests whose spans are shown. */
const requestLimit = 50

/**
 * Creates the spans of a request, with those of its sub-requests, and of the requests that it has made by its calls.
 */
export async function createRequestSpans(
  profile: Profile,
  find: (profile: Profile) => Promise<readonly Profile[]>,
): Promise<RequestSpans> {
  const main = toWaitingRequest(profile)
  const root = main.holder
  const logs: LogMark[] = []
  const waiting: WaitingRequest[] = [{ ...main, called: readCalled(profile) }]
  for (const request of waiting) {
    const children = new Map((await find(request.profile)).map(child => [child.summary.token, child]))
    logs.push(...readLogMarks(request.profile, request.frame))
    for (const [token, { span, start }] of fill(request, children)) {
      const child = children.get(token)
      if (child === undefined || waiting.length === requestLimit) continue
      const { controller, duration } = child.summary
      const frame = { token, controller: controller ?? '', offset: start, handled: duration * 1000 }
      waiting.push({ profile: child, holder: span, frame })
    }
    for (const each of request.called ?? []) {
      // A request to the same program is in its list, too.
      if (each.summary.program === request.profile.summary.program) continue
      const inner = waiting.length < requestLimit && placeCalled(each, request)
      if (inner) waiting.push(inner)
    }
  }
  return { root, logs, profiles: waiting.map(({ profile }) => profile) }
}

/** A request whose spans are not in the tree yet. */
interface WaitingRequest {
  readonly profile: Profile
  readonly holder: TimelineSpan
  readonly frame: RequestFrame
  readonly called?: readonly CalledRequest[]
}

/**
 * Puts the empty span of a called request below its call. It has the clock of its own process:
 * where it would begin before its call, or end after it, it is moved into the call.
 */
function placeCalled(
  { called, index, profile, summary }: CalledRequest,
  caller: WaitingRequest,
): WaitingRequest | undefined {
  const { duration, method, program, time, token, url } = summary
  const call = findSpan(caller.holder, `${profileLink(caller.frame.token, 'http')}#call-${index}`)
  const [period] = call?.periods ?? []
  if (call === undefined || period === undefined || profile === undefined) return undefined
  const begun = caller.frame.offset + (time - caller.profile.summary.time) * 1000
  const handled = duration * 1000
  const offset = Math.max(period.start, Math.min(begun, endOf(period) - handled))
  const holder = createSpan(
    { name: `${method} ${toTarget(url)}`, category: 'service', periods: [{ start: offset, duration: handled }] },
    { link: profileLink(token, 'time'), note: program ?? '', problem: isError(summary) ? 'failed' : '' },
  )
  call.children.push(holder)
  return { profile, holder, frame: { token, controller: summary.controller ?? '', offset, handled }, called }
}

function findSpan(root: TimelineSpan, link: string): TimelineSpan | undefined {
  const waiting = [root]
  for (const span of waiting) {
    if (span.link === link) return span
    waiting.push(...span.children)
  }
  return undefined
}

/** Creates the empty span of a main request. */
function toWaitingRequest(profile: Profile): WaitingRequest {
  const { controller, duration, token } = profile.summary
  const handled = duration * 1000
  const holder = createSpan({
    name: nameOfUnit({ ...profile.summary, url: toTarget(profile.summary.url) }),
    category: 'request',
    periods: [{ start: 0, duration: handled }],
  })
  return { profile, holder, frame: { token, controller: controller ?? '', offset: 0, handled } }
}

/**
 * Finds an own time, in microseconds, by the link of a span and the time at which it began;
 * `undefined` without such a span.
 */
export type FindOwnTime = (link: string, start: number) => number | undefined

/** Reads the own times of the spans of a request, without its sub-requests: those of the timeline. */
export function readOwnTimes(profile: Profile): FindOwnTime {
  const main = toWaitingRequest(profile)
  fill(main, new Map())
  const times = new Map<string, number>()
  const spans = [...main.holder.children]
  for (const span of spans) {
    times.set(keyOf(span.link, startOf(span)), totalOf(ownPeriods(span.periods, span.children)))
    for (const child of span.children) spans.push(child)
  }
  return (link, start) => times.get(keyOf(link, start))
}

function keyOf(link: string, start: number): string {
  return `${link} ${start}`
}

/** When a span began for the first time. */
export function startOf({ periods }: Pick<TimelineSpan, 'periods'>): number {
  return periods.reduce((first, { start }) => Math.min(first, start), Infinity)
}

/** The periods without those of the spans within them. */
export function ownPeriods(periods: readonly Period[], within: readonly TimelineSpan[]): Period[] {
  return subtractPeriods(joinPeriods(periods), joinPeriods(within.flatMap(({ periods }) => periods)))
}

/** Puts the spans of a request into its holder; gives its sub-requests by their tokens. */
function fill(
  { frame, holder, profile }: WaitingRequest,
  children: ReadonlyMap<string, Profile>,
): EventSpans['requests'] {
  const summaries = [...children.values()].map(({ summary }) => summary)
  const { requests, roots } = createEventSpans(readEventTree(profile), frame, summaries)
  holder.children.push(...roots)
  for (const span of createWorkSpans(profile, frame)) {
    const start = span.periods[0]?.start
    if (start !== undefined) findHolder(holder, start).children.push(span)
  }
  return requests
}

const holding: ReadonlySet<Category> = new Set(['kernel', 'event', 'listener', 'controller'])

/**
 * A span without a recorded parent is put where it began: into the innermost span of that moment, the latest of
 * several. If listeners wait at the same time, this may be the wrong one; the times of the span are right nevertheless.
 */
function findHolder(holder: TimelineSpan, moment: number): TimelineSpan {
  const inner = holder.children.findLast(({ category, periods }) => holding.has(category) && holds(periods[0], moment))
  return inner === undefined ? holder : findHolder(inner, moment)
}

/** A log message of level warning or above, as a mark on the time axis. */
export interface LogMark {
  /** Microseconds since the main request began. */
  readonly at: number
  readonly level: string
  readonly isError: boolean
  readonly message: string
  readonly link: string
}

/** Reads the log messages of level warning and above. */
function readLogMarks(profile: Profile, { offset, token }: RequestFrame): LogMark[] {
  const link = profileLink(token, 'logger')
  return readLogs(profile).logs.flatMap(({ at, index, level, message }) => {
    const severity = severityOf(level)
    if (severity === 'plain') return []
    return [{ at: offset + at, level, isError: severity === 'error', message, link: `${link}#log-${index}` }]
  })
}

interface EventSpans {
  /** Spans without a parent. */
  readonly roots: readonly TimelineSpan[]
  /** The sub-requests, by their tokens. */
  readonly requests: ReadonlyMap<string, SubRequestSpan>
}

/** A sub-request, whose own profile has its spans. */
interface SubRequestSpan {
  readonly span: TimelineSpan
  /** Microseconds since the main request began. */
  readonly start: number
}

/** Creates the spans of dispatches, calls of listeners, sub-requests, and the gaps between the kernel's events. */
function createEventSpans(
  { nodes, roots }: EventTree,
  frame: RequestFrame,
  children: readonly ProfileSummary[],
): EventSpans {
  const gaps = findKernelGaps(roots).map(gap => toGapSpan(gap, frame))
  const spans = new Map<EventNode, TimelineSpan>()
  const found: TimelineSpan[] = [...gaps]
  const requests = new Map<string, SubRequestSpan>()
  for (const node of nodes) {
    const span = toEventSpan(node, frame, children)
    const start = frame.offset + node.start
    spans.set(node, span)
    if (node.kind === 'request') requests.set(node.name, { span, start })
    const gap = isKernelDispatch(node) ? undefined : gaps.find(({ periods: [within] }) => holds(within, start))
    const holder = node.parent === undefined ? gap : spans.get(node.parent)
    const siblings = holder?.children ?? found
    siblings.push(span)
  }
  return { roots: found, requests }
}

function toEventSpan(node: EventNode, frame: RequestFrame, children: readonly ProfileSummary[]): TimelineSpan {
  const { duration, hasThrown, index, kind, name, start } = node
  const lasted = duration ?? Math.max(0, frame.handled - start)
  const periods = [{ start: frame.offset + start, duration: lasted }]
  const problem = duration === undefined ? 'not finished' : hasThrown && kind === 'call' ? 'threw' : ''
  if (kind === 'request') {
    const request = describeSubRequest(node, children)
    const link = request.token === '' ? '' : profileLink(request.token, 'time')
    return createSpan({ name: request.name, category: 'request', periods }, { link, problem })
  }
  const link = `${profileLink(frame.token, 'events')}#span-${index}`
  return createSpan({ name, category: categoryOf(node), periods }, { link, problem })
}

function categoryOf(node: EventNode): Category {
  if (node.kind === 'call') return 'listener'
  return isKernelDispatch(node) ? 'kernel' : 'event'
}

function toGapSpan(
  { duration, name, start }: KernelGap,
  { controller, handled, offset, token }: RequestFrame,
): TimelineSpan {
  const lasted = duration ?? Math.max(0, handled - start)
  const isController = name === 'controller'
  return createSpan(
    {
      name: isController ? `${name} ${controller}`.trim() : name,
      category: isController ? 'controller' : 'kernel',
      periods: [{ start: offset + start, duration: lasted }],
    },
    {
      link: isController ? `${profileLink(token, 'events')}#controller` : '',
      problem: duration === undefined ? 'not finished' : '',
    },
  )
}

/**
 * Creates the spans of work that has no parent in the event tree: the times of the application,
 * renders, queries and calls.
 */
function createWorkSpans(profile: Profile, frame: RequestFrame): TimelineSpan[] {
  const ofKinds = workKinds.flatMap(({ category, list, panel }) => {
    const link = profileLink(frame.token, panel)
    const toSpan = ({ end, hasFailed, id, name, note, parts, start, text }: Work): TimelineSpan =>
      createSpan(
        { name, category, periods: [toPeriod(start, end, frame)] },
        {
          text,
          link: `${link}#${id}`,
          note,
          // The note of a call is the status of its response.
          problem: hasFailed || Number(note) >= 500 ? 'failed' : end === undefined ? 'not finished' : '',
          children: parts.map(toSpan),
        },
      )
    return list(profile).map(toSpan)
  })
  return [...createStopwatchSpans(profile, frame), ...createFieldSpans(profile, frame), ...ofKinds]
}

/** Creates the spans of the resolvers of fields. Those of a list run at the same time, so none holds other work. */
function createFieldSpans(profile: Profile, frame: RequestFrame): TimelineSpan[] {
  const link = profileLink(frame.token, 'graphql')
  const { calls, fields } = readFields(profile)
  return fields.map(({ count, failed, name, periods }) => {
    const first = calls.find(({ field }) => field === name)
    return createSpan(
      {
        name,
        category: 'field',
        periods: periods.map(([start, duration]) => toPeriod(start, start + duration, frame)),
      },
      {
        link: first === undefined ? link : `${link}#field-${first.index}`,
        note: [first && pathPatternOf(first.path), count > 1 && `${formatNumber(count)} times`]
          .filter(Boolean)
          .join(', '),
        problem: failed > 0 ? 'failed' : '',
      },
    )
  })
}

/** The period of work, which takes milliseconds. Work without an end is drawn until the request was handled. */
function toPeriod(start: number, end: number | undefined, { handled, offset }: RequestFrame): Period {
  const [begin, until] = [Math.round(start * 1000), end === undefined ? handled : Math.round(end * 1000)]
  return { start: offset + begin, duration: Math.max(0, until - begin) }
}

/** Creates the spans that the application measured with the stopwatch of a request. */
function createStopwatchSpans(profile: Profile, { offset }: RequestFrame): TimelineSpan[] {
  return readStopwatch(profile).measured.map(({ category, isRunning, name, periods }) =>
    createSpan(
      {
        name,
        category: 'stopwatch',
        periods: periods.map(([start, duration]) => ({ start: offset + start, duration })),
      },
      { note: category === 'default' ? '' : category, problem: isRunning ? 'not stopped' : '' },
    ),
  )
}
