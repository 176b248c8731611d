import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { type SummaryView, toSummaryView } from '../../insight/summary-view.ts'
import { durationOf, patternOf, readCalls, type StoredCall } from '../../profile/calls.ts'
import { formatBytes, formatCount, formatDuration, formatNumber } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import { findDefinition } from '../answer-place.ts'
import type { EditorLinks } from '../editor-links.ts'
import { cutText, item, itemRowLimit, limitRows, row, type ToolbarItem, type ToolbarRow } from './toolbar-items.ts'

/** Creates the item of templates; `undefined` without any. */
export function toTemplateItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { calls, pages } = readRenders(profile)
  if (calls === 0) return undefined
  const link = profileLink(token, 'templates')
  return item('templates', 'Templates', {
    text: formatCount(calls, 'template'),
    link,
    isMinor: true,
    rows: [
      row('Render time', formatDuration(renderTime(pages))),
      ...limitRows(
        pages.map(({ duration, index, name }) =>
          row(formatDuration(duration), cutText(name), { link: `${link}#render-${index}` }),
        ),
        link,
      ),
    ],
  })
}

/** Creates the item of HTTP client calls; `undefined` without any. */
export function toCallItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { calls } = readCalls(profile)
  const count = Math.max(profile.summary.calls, calls.length)
  if (count === 0) return undefined
  const link = profileLink(token, 'http')
  const groups = [...groupBy(calls, call => `${call.outcome.text} ${patternOf(call)}`).values()]
  const shown = groups.sort((one, other) => failuresIn(other) - failuresIn(one)).slice(0, itemRowLimit)
  return item('http', 'HTTP client', {
    text: formatCount(count, 'HTTP client call'),
    tone: calls.some(hasFailed) ? 'error' : 'plain',
    link,
    rows: limitRows(
      shown.map(group => toCallRow(group, link, editor)),
      link,
      count - shown.flat().length,
    ),
  })
}

/** The row of calls with the same outcome that differ in values only. Sizes and times are sums. */
function toCallRow(calls: readonly [StoredCall, ...StoredCall[]], link: string, editor: EditorLinks): ToolbarRow {
  const [call] = calls
  const { caller, index, method, status, url } = call
  const times = calls.length === 1 ? '' : `${formatNumber(calls.length)} × `
  const name = calls.every(other => other.url === url) ? url : patternOf(call).slice(method.length + 1)
  const bytes = calls.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
  const duration = calls.reduce((sum, call) => sum + durationOf(call), 0)
  const facts = [...(bytes === 0 ? [] : [formatBytes(bytes)]), formatDuration(duration)]
  return row(`${status || '–'} ${method}`, [`${times}${cutText(name)}`, ...facts].join(' · '), {
    link: `${link}#call-${index}`,
    tone: hasFailed(call) ? 'error' : 'plain',
    place: editor.viewCaller(caller),
  })
}

/** Creates the item of sub-requests; `undefined` without any. */
export function toSubRequestItem(
  { children, profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const tokens = profile.children
  if (tokens.length === 0) return undefined
  const describe = (token: string) => {
    const child = children.find(other => other.token === token)
    const view = child && toSummaryView(child)
    const value = view === undefined ? token : [view.controller || 'no controller', view.duration, token].join(' · ')
    return row(view?.status ?? '–', cutText(value), {
      link: profileLink(token),
      tone: view?.tone ?? 'plain',
      place: child !== undefined && editor.viewFile(findDefinition(child, editor)),
    })
  }
  const link = profileLink(token, 'time')
  return item('sub-requests', 'Sub-requests', {
    text: formatCount(tokens.length, 'direct sub-request'),
    link,
    isMinor: true,
    rows: limitRows(tokens.map(describe), link),
  })
}

/** Creates the item of the memory of the process. */
export function toMemoryItem({ profile }: ShownProfile, { memory, token }: SummaryView): ToolbarItem {
  const { heap, pauses } = profile.collectors.memory ?? {}
  return item('memory', 'Memory', {
    text: memory,
    link: profileLink(token, 'memory'),
    isMinor: true,
    rows: [
      row('Heap of the process', memory),
      ...(heap === undefined ? [] : [row('Before', formatBytes(heap.before)), row('Limit', formatBytes(heap.limit))]),
      ...(pauses === undefined || pauses.count === 0
        ? []
        : [row('Garbage collection', `${formatCount(pauses.count, 'run')}, ${formatDuration(pauses.total)}`)]),
    ],
  })
}

function failuresIn(calls: readonly StoredCall[]): number {
  return calls.filter(hasFailed).length
}

function hasFailed({ error, status }: StoredCall): boolean {
  return error !== '' || status >= 400
}
