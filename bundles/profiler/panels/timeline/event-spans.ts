import { recordLink } from '../../links.ts'
import type { ProfileSummary } from '../../profile.ts'
import type { EventNode, EventTree } from '../../reading/event-tree.ts'
import { findKernelGaps, isKernelDispatch, type KernelGap } from '../../reading/kernel-gaps.ts'
import { endOf, type Period } from '../../reading/periods.ts'
import { describeSubRequest } from '../../reading/sub-request.ts'
import type { Category } from './category.ts'
import { createSpan, type PassFrame, type TimelineSpan } from './span.ts'

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
  const problem = duration === undefined ? 'was not over' : hasThrown && kind === 'call' ? 'threw' : ''
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
    { problem: duration === undefined ? 'was not over' : '' },
  )
}
