import { formatMicroseconds } from '../../format/format-microseconds.ts'
import { type EventNode, ownTime, readEventTree } from '../../reading/event-tree.ts'
import type { Section } from './section.ts'
import { toSpan } from './text.ts'

/** Deeper ones are nobody's design. */
const depthLimit = 20

/** The event tree as a nested list: dispatches, the calls of listeners in them, and what those have changed. */
export const eventsSection: Section = {
  panel: 'events',
  write({ profile }, limit) {
    const { dropped, nodes, roots } = readEventTree(profile)
    if (nodes.length === 0) return []
    const lines = roots.flatMap(root => writeNode(root, 0))
    // A tree has more items than a table has rows.
    const room = 3 * limit
    const left = Math.max(0, nodes.length - Math.min(lines.length, room)) + dropped
    return [
      '## Events',
      lines.slice(0, room).join('\n'),
      ...(left === 0 ? [] : [`${left.toLocaleString('en')} more are left out.`]),
    ]
  },
}

function writeNode(node: EventNode, depth: number): string[] {
  if (depth === depthLimit) return []
  return [`${'  '.repeat(depth)}- ${describe(node)}`, ...node.children.flatMap(child => writeNode(child, depth + 1))]
}

function describe(node: EventNode): string {
  const { before, children, details, duration, hasThrown, isStopped, kind, name, priority } = node
  const time = duration === undefined ? 'not over' : formatMicroseconds(duration)
  const own = children.length === 0 ? '' : ` (own ${formatMicroseconds(ownTime(node))})`
  const facts = [
    `${kind === 'request' ? 'sub-request ' : ''}${toSpan(name)} ${time}${own}`,
    ...(kind === 'call' ? [`priority ${priority}`] : []),
    ...(isStopped ? ['stopped propagation'] : []),
    ...(hasThrown ? ['threw'] : []),
    ...(details.length === 0
      ? []
      : [`${kind === 'dispatch' ? 'skipped' : ''} ${details.map(toSpan).join(', ')}`.trim()]),
    ...(before.length === 0 ? [] : [`before it ${before.map(toSpan).join(', ')}`]),
  ]
  return facts.join('; ')
}
