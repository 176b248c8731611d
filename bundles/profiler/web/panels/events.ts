import type { ViewModel } from '../../../../lib/view/view.ts'
import {
  type Change,
  isKernelDispatch,
  type OutlineNode,
  outlineEvents,
  readHandledTime,
} from '../../profile/event-outline.ts'
import { type EventNode, type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { formatMicroseconds } from '../../profile/format.ts'
import { formatText } from '../../profile/format-value.ts'
import { describeSubRequest, recordLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { asObject, asObjects, asText } from '../../profile/read-soft.ts'
import { type FoldedNode, foldOutline, keyOfListener, summarizeListeners } from './event-tables.ts'
import { rowId } from './origins.ts'
import type { ProfilePanel } from './panel.ts'

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
          { name: 'Listener calls', value: countOf(tree, 'call') },
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

/** What the rows of an event tree are told beside the tree. */
export interface SpanSurroundings {
  /** Of the record. */
  readonly token: string
  /** The sub-requests whose profiles are there. */
  readonly children: readonly ProfileSummary[]
  /** Microseconds until the request was handled: as wide as a whole bar. */
  readonly until: number
  /** The name of the one error that was thrown; empty when there were several. */
  readonly thrown: string
  /** Where listeners were registered, by `keyOfListener`. */
  readonly sites: ReadonlyMap<string, string>
}

/** Makes rows of the lines of a folded outline, with the rows within them. */
export function createSpanViewer(surroundings: SpanSurroundings): (line: FoldedNode) => ViewModel {
  const exceptionLink = recordLink(surroundings.token, 'exception')
  const requestLink = recordLink(surroundings.token, 'request')
  const toView = (line: FoldedNode, event: string): ViewModel => {
    const { children, duration, left, node, times } = line
    const isGroup = times > 1
    const isCall = node.kind === 'call'
    const subRequest = node.kind === 'request' ? describeSubRequest(node, surroundings.children) : undefined
    const name = subRequest?.name ?? node.name
    const remark = isGroup ? '' : remarkOf(node)
    const changes = isGroup ? [] : node.changes.map(change => toChip(change, requestLink))
    return {
      id: isGroup ? '' : node.anchor,
      kind: node.kind,
      marks: marksOf(line),
      name: node.kind === 'controller' ? name || 'the controller' : name,
      times: isGroup ? `× ${times}` : '',
      token: subRequest?.token ?? '',
      site: isCall
        ? (surroundings.sites.get(keyOfListener({ event, name, priority: Number(node.priority) })) ?? '')
        : '',
      priority: node.priority === undefined ? '' : String(node.priority),
      start: formatMicroseconds(node.start),
      duration: duration === undefined ? '' : formatMicroseconds(duration),
      own: isGroup || node.own === undefined ? '' : formatMicroseconds(node.own),
      bar: toBar(node.start, duration, surroundings.until),
      thrown: node.hasThrown ? `threw ${surroundings.thrown || 'an error'}` : '',
      thrownLink: exceptionLink,
      isStopped: node.isStopped,
      skipped: node.skipped.join(', '),
      remark,
      by: node.kind === 'dispatch' && node.changes.length > 0 ? 'The kernel, before this event:' : '',
      changes,
      hasNotes: node.hasThrown || node.skipped.length > 0 || node.isStopped || changes.length > 0,
      isOpen: !isGroup,
      children: children.map(child => toView(child, node.name)),
      left: left === 0 ? '' : String(left),
    }
  }
  return line => toView(line, '')
}

/** What a row can be asked for, as classes. */
function marksOf({ duration = 0, node, times }: FoldedNode): string {
  const marks: string[] = [`node-${node.kind}`]
  if (node.kind === 'dispatch' && !isKernelDispatch(node)) marks.push('of-event')
  if (times > 1) marks.push('alike')
  if (node.changes.length > 0) marks.push('changed')
  if (node.isStopped || node.hasThrown) marks.push('troubled')
  if (duration >= 100) marks.push('lasts-100us')
  if (duration >= 1000) marks.push('lasts-1ms')
  return marks.join(' ')
}

/** Where its time lies in that of the request, in percent; what came afterwards has no place there. */
function toBar(start: number, duration: number | undefined, until: number): { x: string; width: string } | false {
  if (duration === undefined || start >= until) return false
  const x = (start / until) * 100
  const width = Math.max(0.3, (Math.min(duration, until - start) / until) * 100)
  return { x: x.toFixed(1), width: width.toFixed(1) }
}

function remarkOf({ children, duration, kind, skipped }: OutlineNode): string {
  if (duration === undefined) return 'not finished'
  return kind === 'dispatch' && children.length === 0 && skipped.length === 0 ? 'no listeners' : ''
}

/** Leads to what was changed, as far as that has a place of its own. */
function toChip({ name, verb, what }: Change, requestLink: string): ViewModel {
  const id = verb !== 'removed' && (what === 'header' || what === 'attribute') ? rowId(what, name) : ''
  return {
    action: what === '' ? '' : `${verb} ${what === 'header' || what === 'attribute' ? what : `the ${what}`}`,
    kind: what || 'plain',
    name,
    link: id === '' ? '' : `${requestLink}#${id}`,
  }
}
