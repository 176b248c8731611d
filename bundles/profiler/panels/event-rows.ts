import type { ProfileSummary } from '../profile.ts'
import { coveredTime, type EventNode, type EventTree, ownTime } from './event-tree.ts'
import { groupBy } from './group-by.ts'
import { describeSubRequest } from './sub-request.ts'
import type { TimelineRow } from './timeline.ts'

/**
 * What of a timeline the event tree tells: dispatches, the classes of listeners, sub-requests; and, as the gaps between
 * the kernel's events, the controller. `until` is when the request was handled, in microseconds: what was not over then
 * is shown as if it had ended.
 */
export function createEventRows(
  { nodes, roots }: EventTree,
  children: readonly ProfileSummary[],
  until: number,
): TimelineRow[] {
  const toPeriod = ({ duration, start }: EventNode) => ({ start, duration: duration ?? Math.max(0, until - start) })
  const toRow = (name: string, category: string, group: readonly EventNode[]): TimelineRow => ({
    name,
    category,
    periods: group.map(toPeriod),
    own: group.reduce((sum, node) => sum + ownTime(node), 0),
  })
  const ofKind = (kind: EventNode['kind']) => nodes.filter(node => node.kind === kind)
  return [
    ...Array.from(
      groupBy(ofKind('dispatch'), ({ name }) => name),
      ([name, group]) => toRow(name, isStep(name) ? 'section' : 'event', group),
    ),
    ...Array.from(groupBy(ofKind('call'), classOf), ([name, group]) => toRow(name, 'event_listener', group)),
    ...ofKind('request').map(node => ({ ...describeSubRequest(node, children), periods: [toPeriod(node)] })),
    ...findGaps(roots, until),
  ]
}

/** What the kernel does itself, by the events between which it does so. */
const gaps: Readonly<Record<string, readonly [name: string, category: string]>> = {
  'kernel.request kernel.controller': ['controller.get_callable', 'default'],
  'kernel.controller kernel.controller_arguments': ['controller.get_arguments', 'default'],
  'kernel.controller_arguments kernel.view': ['controller', 'controller'],
  'kernel.controller_arguments kernel.response': ['controller', 'controller'],
  'kernel.controller_arguments kernel.exception': ['controller', 'controller'],
  // It has not returned.
  'kernel.controller_arguments ': ['controller', 'controller'],
}

function findGaps(roots: readonly EventNode[], until: number): TimelineRow[] {
  const steps = roots.filter(({ kind, name }) => kind === 'dispatch' && isStep(name))
  return steps.flatMap((step, at): TimelineRow[] => {
    const next = steps[at + 1]
    const gap = gaps[`${step.name} ${next?.name ?? ''}`]
    if (gap === undefined || step.duration === undefined) return []
    const start = step.start + step.duration
    const end = Math.max(start, next?.start ?? until)
    const [name, category] = gap
    const own = end - start - coveredTime(roots, start, end)
    return [{ name, category, periods: [{ start, duration: end - start }], own }]
  })
}

function isStep(event: string): boolean {
  return event.startsWith('kernel.')
}

/** Methods are named after their class. */
function classOf({ name }: EventNode): string {
  return name.split('.', 1).join()
}
