import { formatText } from '../format/format-soft.ts'
import { recordLink } from '../links.ts'
import { outlineEvents } from '../reading/event-outline.ts'
import { type EventNode, type EventTree, readEventTree } from '../reading/event-tree.ts'
import { readHandledTime } from '../reading/handled-time.ts'
import { asObject, asObjects, asText } from '../reading/read-soft.ts'
import { foldOutline } from './fold-outline.ts'
import { summarizeListeners } from './listener-tables.ts'
import type { ProfilePanel } from './panel.ts'
import { createSpanViewer } from './span-view.ts'

/** Rows of one page; who wants more of them follows a link. */
const rowLimit = 120

/** Creates the panel of the event tree: what was dispatched, who was called for how long, and what that has changed. */
export function createEventsPanel(): ProfilePanel {
  return {
    name: 'events',
    label: 'Events',
    template: 'profiler/panels/events',
    hasContent: profile => readEventTree(profile).nodes.length > 0,
    toView({ children, facts, profile, query }) {
      const tree = readEventTree(profile)
      const outline = outlineEvents(tree, formatText(profile.summary.controller))
      const tables = summarizeListeners(tree, facts)
      const isAll = query?.get('spans') === 'all'
      const folded = foldOutline(outline, isAll ? Number.POSITIVE_INFINITY : rowLimit)
      const token = formatText(profile.summary.token)
      const toView = createSpanViewer({
        token,
        children,
        until: readHandledTime(profile) * 1000,
        thrown: readThrown(profile.data),
        sites: tables.sites,
      })
      return {
        metrics: [
          { name: 'Dispatched events', value: countOf(tree, 'dispatch') },
          { name: 'Calls of listeners', value: countOf(tree, 'call') },
          { name: 'Called listeners', value: String(tables.called.length) },
          { name: 'Not called', value: String(tables.notCalled.length) },
          { name: 'Orphaned events', value: String(tables.orphaned.length) },
        ],
        nodes: folded.nodes.map(toView),
        left: folded.left,
        allLink: `${recordLink(token, 'events')}&spans=all`,
        dropped: tree.dropped,
        ...tables,
      }
    },
  }
}

function countOf({ nodes }: EventTree, kind: EventNode['kind']): string {
  return String(nodes.filter(node => node.kind === kind).length)
}

/** What was thrown; empty unless it was one error: of several nobody knows which one a listener has thrown. */
function readThrown(data: unknown): string {
  const [first, ...others] = asObjects(asObject(asObject(data).exception).exceptions)
  return first === undefined || others.length > 0 ? '' : asText(first.name)
}
