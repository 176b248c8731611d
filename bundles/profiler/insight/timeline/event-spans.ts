import { findKernelGaps, isKernelDispatch, type KernelGap } from '../../profile/event-outline.ts'
import type { EventNode, EventTree } from '../../profile/event-tree.ts'
import { describeSubRequest, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { type Category, createSpan, holds, type RequestFrame, type TimelineSpan } from './span.ts'

/** The spans of an event tree. */
export interface EventSpans {
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
export function createEventSpans(
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
