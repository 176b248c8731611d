import { readCalls } from '../../../profile/calls.ts'
import { findKernelGaps, isKernelDispatch, type KernelGap } from '../../../profile/event-outline.ts'
import { type EventNode, type EventTree, readEventTree } from '../../../profile/event-tree.ts'
import { toTarget } from '../../../profile/format.ts'
import { describeSubRequest, recordLink } from '../../../profile/links.ts'
import { readLogs, severityOf } from '../../../profile/logs.ts'
import { endOf, type Period } from '../../../profile/periods.ts'
import type { Profile, ProfileSummary } from '../../../profile/profile.ts'
import { asList, asNumber, asObject, asObjects, asText } from '../../../profile/read-soft.ts'
import { type Render, readRenders } from '../../../profile/renders.ts'

/** Something that took time, once or several times, and what happened within it. */
export interface TimelineSpan {
  readonly name: string
  readonly category: Category
  readonly periods: readonly Period[]
  /** The page that tells more of it; empty when there is none. */
  readonly link: string
  /** A word that says more of its kind. */
  readonly note: string
  /** What went wrong: `threw`, `failed`, `not finished`. */
  readonly problem: string
  readonly children: TimelineSpan[]
}

/** Creates a span; what is not told is empty. */
export function createSpan(
  { category, name, periods }: Pick<TimelineSpan, 'category' | 'name' | 'periods'>,
  { children = [], link = '', note = '', problem = '' }: Partial<TimelineSpan> = {},
): TimelineSpan {
  return { name, category, periods, link, note, problem, children }
}

/** Of a pass: where its times count from, and until when it was handled. */
export interface PassFrame {
  readonly token: string
  /** Microseconds from the begin of the main request to that of the pass. */
  readonly offset: number
  /** Microseconds since the pass began: what was not over then is shown as if it had ended. */
  readonly handled: number
}

/** What kinds of things take time, in the order of their lanes; the name is also a class and a parameter of the page. */
export const categories = [
  { name: 'kernel', label: 'Kernel', letter: 'K' },
  { name: 'event', label: 'Application events', letter: 'E' },
  { name: 'listener', label: 'Listeners', letter: 'L' },
  { name: 'controller', label: 'Controller', letter: 'C' },
  { name: 'template', label: 'Templates', letter: 'T' },
  { name: 'http', label: 'HTTP client calls', letter: 'H' },
  { name: 'stopwatch', label: 'Stopwatch', letter: 'S' },
  { name: 'request', label: 'Sub-Requests', letter: 'R' },
] as const

/** One of {@link categories}. */
export type Category = (typeof categories)[number]['name']

/** Finds the profiles of the sub-requests of a pass, as far as they are there. */
export type ChildFinder = (profile: Profile) => Promise<readonly Profile[]>

/** All that took time in a pass, and what it has warned of. */
export interface PassSpans {
  readonly root: TimelineSpan
  readonly logs: readonly LogMark[]
}

/** More sub-requests than this are not looked into. */
const passLimit = 50

/** Makes spans of a pass, and of its sub-requests within it. */
export async function createPassSpans(profile: Profile, findChildren: ChildFinder): Promise<PassSpans> {
  const { duration, method, token, url } = asObject(profile.summary)
  const handled = asNumber(duration) * 1000
  const root = createSpan({
    name: `${asText(method)} ${toTarget(asText(url))}`,
    category: 'request',
    periods: [{ start: 0, duration: handled }],
  })
  const logs: LogMark[] = []
  const waiting: Trace[] = [{ profile, holder: root, frame: { token: asText(token), offset: 0, handled } }]
  for (const trace of waiting) {
    const children = new Map((await findChildren(trace.profile)).map(child => [child.summary.token, child]))
    logs.push(...readLogMarks(trace.profile, trace.frame))
    for (const [token, { span, start }] of fill(trace, children)) {
      const child = children.get(token)
      if (child === undefined || waiting.length === passLimit) continue
      const handled = asNumber(child.summary.duration) * 1000
      waiting.push({ profile: child, holder: span, frame: { token, offset: start, handled } })
    }
  }
  return { root, logs }
}

interface Trace {
  readonly profile: Profile
  readonly holder: TimelineSpan
  readonly frame: PassFrame
}

/** Puts what was recorded of a pass into its span; gives its sub-requests by their tokens. */
function fill({ frame, holder, profile }: Trace, children: ReadonlyMap<string, Profile>): EventSpans['requests'] {
  const summaries = [...children.values()].map(({ summary }) => summary)
  const { requests, roots } = createEventSpans(readEventTree(profile), frame, summaries)
  holder.children.push(...roots)
  const loose = [
    ...createStopwatchSpans(profile, frame),
    ...createTemplateSpans(profile, frame),
    ...createCallSpans(profile, frame),
  ]
  for (const span of loose) {
    const start = span.periods[0]?.start
    if (start !== undefined) findHolder(holder, start).children.push(span)
  }
  return requests
}

const holding: ReadonlySet<Category> = new Set(['kernel', 'event', 'listener', 'controller'])

/**
 * What was recorded by itself lies where it began: in the innermost of what was under way, the latest of several. Where
 * listeners wait at the same time, that may be the other one; its own times are right nevertheless.
 */
function findHolder(holder: TimelineSpan, moment: number): TimelineSpan {
  const inner = holder.children.findLast(({ category, periods }) => holding.has(category) && holds(periods[0], moment))
  return inner === undefined ? holder : findHolder(inner, moment)
}

/** What of a pass the event tree tells. */
export interface EventSpans {
  /** What lies in nothing else. */
  readonly roots: readonly TimelineSpan[]
  /** The sub-requests, by their tokens. */
  readonly requests: ReadonlyMap<string, SubRequestSpan>
}

/** A sub-request, which its own profile tells more of. */
export interface SubRequestSpan {
  readonly span: TimelineSpan
  /** Microseconds since the main request began. */
  readonly start: number
}

/** Makes spans of dispatches, calls of listeners and sub-requests; and of the gaps between the kernel's events. */
export function createEventSpans(
  { nodes, roots }: EventTree,
  frame: PassFrame,
  children: readonly ProfileSummary[],
): EventSpans {
  const gaps = findKernelGaps(roots).map(gap => toGapSpan(gap, frame))
  const spans = new Map<EventNode, TimelineSpan>()
  const found: TimelineSpan[] = [...gaps]
  const requests = new Map<string, SubRequestSpan>()
  for (const node of nodes) {
    const span = toSpan(node, frame, children)
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

/** Whether something began within a period. */
export function holds(period: Period | undefined, moment: number): boolean {
  return period !== undefined && period.start <= moment && moment < endOf(period)
}

function toSpan(node: EventNode, frame: PassFrame, children: readonly ProfileSummary[]): TimelineSpan {
  const { duration, hasThrown, index, kind, name, start } = node
  const lasted = duration ?? Math.max(0, frame.handled - start)
  const periods = [{ start: frame.offset + start, duration: lasted }]
  const problem = duration === undefined ? 'not finished' : hasThrown && kind === 'call' ? 'threw' : ''
  if (kind === 'request') {
    const request = describeSubRequest(node, children)
    const link = request.token === '' ? '' : recordLink(request.token, 'time')
    return createSpan({ name: request.name, category: 'request', periods }, { link, problem })
  }
  const link = `${recordLink(frame.token, 'events')}#span-${index}`
  return createSpan({ name, category: categoryOf(node), periods }, { link, problem })
}

function categoryOf(node: EventNode): Category {
  if (node.kind === 'call') return 'listener'
  return isKernelDispatch(node) ? 'kernel' : 'event'
}

function toGapSpan({ duration, name, start }: KernelGap, { handled, offset }: PassFrame): TimelineSpan {
  const lasted = duration ?? Math.max(0, handled - start)
  return createSpan(
    {
      name,
      category: name === 'controller' ? 'controller' : 'kernel',
      periods: [{ start: offset + start, duration: lasted }],
    },
    { problem: duration === undefined ? 'not finished' : '' },
  )
}

/** Makes spans of the outgoing requests; one that was not over is shown as if it had ended with the pass. */
export function createCallSpans(profile: Profile, { handled, offset, token }: PassFrame): TimelineSpan[] {
  const link = recordLink(token, 'http')
  return readCalls(profile).calls.map(({ end, error, index, method, start, status, url }) => {
    const begin = Math.round(start * 1000)
    const until = end === undefined ? handled : Math.round(end * 1000)
    return createSpan(
      {
        name: `${method} ${url.replace(/^https?:\/\//, '')}`.trim(),
        category: 'http',
        periods: [{ start: offset + begin, duration: Math.max(0, until - begin) }],
      },
      {
        link: `${link}#call-${index}`,
        note: status === 0 ? '' : String(status),
        problem: error !== '' ? 'failed' : end === undefined ? 'not finished' : '',
      },
    )
  })
}

/** Makes spans of the templates that were rendered: of pages, with their partials within them. */
export function createTemplateSpans(profile: Profile, { offset, token }: PassFrame): TimelineSpan[] {
  const link = recordLink(token, 'templates')
  const toSpan = ({ duration, hasFailed, index, name, partials, start }: Render): TimelineSpan => {
    const periods = [{ start: offset + toMicroseconds(start), duration: toMicroseconds(duration) }]
    return createSpan(
      { name, category: 'template', periods },
      { link: `${link}#render-${index}`, problem: hasFailed ? 'failed' : '', children: partials.map(toSpan) },
    )
  }
  return readRenders(profile).pages.map(toSpan)
}

function toMicroseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1000))
}

/** Makes spans of what the application has measured with the stopwatch of a request. */
export function createStopwatchSpans({ data }: Profile, { offset }: PassFrame): TimelineSpan[] {
  return asObjects(asObject(data.time).measured).map(({ category, isRunning, name, periods }) => {
    const kind = asText(category)
    return createSpan(
      {
        name: asText(name),
        category: 'stopwatch',
        periods: asList(periods)
          .map(asList)
          .map(([start, duration]) => ({
            start: offset + asNumber(start),
            duration: Math.max(0, asNumber(duration)),
          })),
      },
      { note: kind === 'default' ? '' : kind, problem: isRunning === true ? 'not stopped' : '' },
    )
  })
}

/** How many names and periods of a stopwatch there was no room for. */
export function countDropped({ data }: Profile): number {
  const { dropped, measured } = asObject(asObject(data).time)
  return asObjects(measured).reduce((sum, event) => sum + asNumber(event.dropped), asNumber(dropped))
}

/** A warning, or worse, as a mark on the time axis. */
export interface LogMark {
  /** Microseconds since the main request began. */
  readonly at: number
  readonly level: string
  readonly isError: boolean
  readonly message: string
  readonly link: string
}

/** Reads the log records of level warning and above. */
export function readLogMarks(profile: Profile, { offset, token }: PassFrame): LogMark[] {
  const link = recordLink(token, 'logger')
  return readLogs(profile).logs.flatMap(({ at, index, level, message }) => {
    const severity = severityOf(level)
    if (severity === 'plain') return []
    return [{ at: offset + at, level, isError: severity === 'error', message, link: `${link}#log-${index}` }]
  })
}
