import { readEventTree } from '../../profile/event-tree.ts'
import { toTarget } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { readLogs, severityOf } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { createEventSpans, type EventSpans } from './event-spans.ts'
import { type Category, createSpan, holds, type RequestFrame, type TimelineSpan } from './span.ts'
import { createWorkSpans } from './work-spans.ts'

/** The spans of a request, and its warnings. */
interface RequestSpans {
  readonly root: TimelineSpan
  readonly logs: readonly LogMark[]
  /** The profiles that have these spans: of the request, and of its sub-requests. */
  readonly profiles: readonly Profile[]
}

/** The spans of more requests than this are not shown. */
const requestLimit = 50

/** Creates the spans of a request, with those of its sub-requests. */
export async function createRequestSpans(
  profile: Profile,
  find: (profile: Profile) => Promise<readonly Profile[]>,
): Promise<RequestSpans> {
  const { controller, duration, method, token, url } = profile.summary
  const handled = duration * 1000
  const root = createSpan({
    name: `${method} ${toTarget(url)}`,
    category: 'request',
    periods: [{ start: 0, duration: handled }],
  })
  const logs: LogMark[] = []
  const waiting: WaitingRequest[] = [
    { profile, holder: root, frame: { token, controller: controller ?? '', offset: 0, handled } },
  ]
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
  }
  return { root, logs, profiles: waiting.map(({ profile }) => profile) }
}

/** A request whose spans are not in the tree yet. */
interface WaitingRequest {
  readonly profile: Profile
  readonly holder: TimelineSpan
  readonly frame: RequestFrame
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
 * A span without a recorded parent is put where it began: into the innermost span of that moment, the latest of several. If
 * listeners wait at the same time, this may be the wrong one; the times of the span are right nevertheless.
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
