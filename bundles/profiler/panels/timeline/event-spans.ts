import { recordLink } from '../../pages/links.ts'
import type { EventNode, EventTree } from '../event-tree.ts'
import type { Category } from './category.ts'
import { endOf, type Period } from './periods.ts'
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

const tokenPattern = /^[0-9a-f]{6}$/

/** Makes spans of dispatches, calls of listeners and sub-requests; and of the gaps between the kernel's events. */
export function createEventSpans(
  { nodes, roots }: EventTree,
  frame: PassFrame,
  nameRequest: (token: string) => string,
): EventSpans {
  const gaps = findGaps(roots, frame)
  const spans = new Map<EventNode, TimelineSpan>()
  const found: TimelineSpan[] = [...gaps]
  const requests = new Map<string, SubRequestSpan>()
  for (const node of nodes) {
    const span = toSpan(node, frame, nameRequest)
    const start = frame.offset + node.start
    spans.set(node, span)
    if (node.kind === 'request') requests.set(node.name, { span, start })
    const gap = isStep(node) ? undefined : gaps.find(({ periods: [within] }) => holds(within, start))
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

function toSpan(node: EventNode, frame: PassFrame, nameRequest: (token: string) => string): TimelineSpan {
  const { duration, hasThrown, index, kind, name, start } = node
  const lasted = duration ?? Math.max(0, frame.handled - start)
  const periods = [{ start: frame.offset + start, duration: lasted }]
  const problem = duration === undefined ? 'was not over' : hasThrown && kind === 'call' ? 'threw' : ''
  if (kind === 'request') {
    const link = tokenPattern.test(name) ? recordLink(name, 'time') : ''
    return createSpan({ name: nameRequest(name), category: 'request', periods }, { link, problem })
  }
  const link = `${recordLink(frame.token, 'events')}#span-${index}`
  return createSpan({ name, category: categoryOf(node), periods }, { link, problem })
}

function categoryOf(node: EventNode): Category {
  if (node.kind === 'call') return 'listener'
  return isStep(node) ? 'kernel' : 'event'
}

/** What the kernel does itself, by the events between which it does so. */
const gapNames: Readonly<Record<string, readonly [name: string, category: Category]>> = {
  'kernel.request kernel.controller': ['controller.get_callable', 'kernel'],
  'kernel.controller kernel.controller_arguments': ['controller.get_arguments', 'kernel'],
  'kernel.controller_arguments kernel.view': ['controller', 'controller'],
  'kernel.controller_arguments kernel.response': ['controller', 'controller'],
  'kernel.controller_arguments kernel.exception': ['controller', 'controller'],
  // It has not returned.
  'kernel.controller_arguments ': ['controller', 'controller'],
  'kernel.finish_request kernel.terminate': ['response.send', 'kernel'],
}

function findGaps(roots: readonly EventNode[], { handled, offset }: PassFrame): TimelineSpan[] {
  const steps = roots.filter(isStep)
  return steps.flatMap((step, at) => {
    const next = steps[at + 1]
    const gap = gapNames[`${step.name} ${next?.name ?? ''}`]
    if (gap === undefined || step.duration === undefined) return []
    const start = step.start + step.duration
    const duration = Math.max(0, (next?.start ?? handled) - start)
    const [name, category] = gap
    const problem = next === undefined ? 'was not over' : ''
    return [createSpan({ name, category, periods: [{ start: offset + start, duration }] }, { problem })]
  })
}

function isStep({ kind, name }: EventNode): boolean {
  return kind === 'dispatch' && name.startsWith('kernel.')
}
