import type { ViewModel } from '../../../lib/view/view.ts'
import type { ProfileSummary } from '../profile.ts'
import { type EventNode, type EventTree, ownTime, readEventTree } from './event-tree.ts'
import { formatMicroseconds } from './format-microseconds.ts'
import { summarizeListeners } from './listener-tables.ts'
import type { ProfilePanel } from './panel.ts'
import { describeSubRequest } from './sub-request.ts'

/** Creates the panel of the event tree: what was dispatched, who was called for how long, and what that has changed. */
export function createEventsPanel(): ProfilePanel {
  return {
    name: 'events',
    label: 'Events',
    template: 'profiler/panels/events',
    hasContent: profile => readEventTree(profile).nodes.length > 0,
    toView({ children, facts, profile }) {
      const tree = readEventTree(profile)
      const tables = summarizeListeners(tree, facts)
      const metrics = [
        { name: 'Dispatched events', value: countOf(tree, 'dispatch') },
        { name: 'Calls of listeners', value: countOf(tree, 'call') },
        { name: 'Called listeners', value: String(tables.called.length) },
        { name: 'Not called', value: String(tables.notCalled.length) },
        { name: 'Orphaned events', value: String(tables.orphaned.length) },
      ]
      return { metrics, rows: toRows(tree, children), dropped: tree.dropped, ...tables }
    },
  }
}

function countOf({ nodes }: EventTree, kind: EventNode['kind']): string {
  return String(nodes.filter(node => node.kind === kind).length)
}

interface Badge {
  readonly text: string
  readonly level: 'plain' | 'warning' | 'error'
}

/** The tree as the rows of a table, each with the lines that lead to it. */
function toRows({ roots }: EventTree, children: readonly ProfileSummary[]): ViewModel[] {
  const rows: ViewModel[] = []
  // Not recursive: trees from the disk may be of any depth.
  const waiting = roots.toReversed().map(node => ({ node, lines: '', isLast: true }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { isLast, lines, node } = next
    const isRoot = node.parent === undefined
    rows.push(toRow(node, isRoot ? '' : `${lines}${isLast ? '└─ ' : '├─ '}`, children))
    const below = isRoot ? '' : shorten(`${lines}${isLast ? '\u00a0\u00a0 ' : '│\u00a0 '}`)
    for (const [at, child] of [...node.children.entries()].toReversed()) {
      waiting.push({ node: child, lines: below, isLast: at === node.children.length - 1 })
    }
  }
  return rows
}

const lineLimit = 60

function shorten(lines: string): string {
  return lines.length <= lineLimit ? lines : lines.slice(-lineLimit)
}

function toRow(node: EventNode, lines: string, children: readonly ProfileSummary[]): ViewModel {
  const { duration, kind, name, priority, start } = node
  const subRequest = kind === 'request' ? describeSubRequest(node, children) : undefined
  return {
    lines,
    isDispatch: kind === 'dispatch',
    name: subRequest?.name ?? name,
    token: subRequest?.token ?? '',
    priority: kind === 'call' ? String(priority) : '',
    start: formatMicroseconds(start),
    duration: duration === undefined ? '' : formatMicroseconds(duration),
    // What a sub-request did is in its own tree.
    own: duration === undefined || kind === 'request' ? '' : formatMicroseconds(ownTime(node)),
    badges: badgesOf(node),
  }
}

function badgesOf({ children, details, duration, hasThrown, isStopped, kind, parent }: EventNode): Badge[] {
  const badges: Badge[] = []
  if (kind === 'call') {
    const skipped = parent?.details.join(', ')
    const consequence = skipped ? ` (skipped: ${skipped})` : ''
    if (isStopped) badges.push({ text: `stopped propagation${consequence}`, level: 'warning' })
    if (hasThrown) badges.push({ text: `threw${consequence}`, level: 'error' })
    badges.push(...details.map((text): Badge => ({ text, level: 'plain' })))
  }
  const isOrphan = kind === 'dispatch' && children.length === 0 && details.length === 0
  if (isOrphan) badges.push({ text: 'nobody listened', level: 'plain' })
  if (duration === undefined) badges.push({ text: 'was not over', level: 'warning' })
  return badges
}
