import { toTarget } from '../../format/to-target.ts'
import type { Profile } from '../../profile.ts'
import { readEventTree } from '../../reading/event-tree.ts'
import { asNumber, asObject, asText } from '../../reading/read-soft.ts'
import { createCallSpans } from './call-spans.ts'
import type { Category } from './category.ts'
import { createEventSpans, type EventSpans, holds } from './event-spans.ts'
import { type LogMark, readLogMarks } from './log-marks.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'
import { createStopwatchSpans } from './stopwatch-spans.ts'
import { createTemplateSpans } from './template-spans.ts'

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
  const waiting: Pass[] = [{ profile, holder: root, frame: { token: asText(token), offset: 0, handled } }]
  for (const pass of waiting) {
    const children = new Map((await findChildren(pass.profile)).map(child => [child.summary.token, child]))
    logs.push(...readLogMarks(pass.profile, pass.frame))
    for (const [token, { span, start }] of fill(pass, children)) {
      const child = children.get(token)
      if (child === undefined || waiting.length === passLimit) continue
      const handled = asNumber(child.summary.duration) * 1000
      waiting.push({ profile: child, holder: span, frame: { token, offset: start, handled } })
    }
  }
  return { root, logs }
}

interface Pass {
  readonly profile: Profile
  readonly holder: TimelineSpan
  readonly frame: PassFrame
}

/** Puts what was recorded of a pass into its span; gives its sub-requests by their tokens. */
function fill({ frame, holder, profile }: Pass, children: ReadonlyMap<string, Profile>): EventSpans['requests'] {
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
