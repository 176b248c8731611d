import type { ShownProfile } from '../../insight/relatives.ts'
import { type SummaryView, type Tone, toSummaryView } from '../../insight/summary-view.ts'
import { durationOf, readCalls, type StoredCall } from '../../profile/calls.ts'
import { formatBytes, formatCount, formatDuration } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import { cutText, item, itemRowLimit, row, type ToolbarItem } from './toolbar-items.ts'

/** Creates the item of templates; `undefined` without any. */
export function toTemplateItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { calls, pages } = readRenders(profile)
  if (calls === 0) return undefined
  return item('templates', 'Templates', {
    text: formatCount(calls, 'template'),
    link: profileLink(token, 'templates'),
    isMinor: true,
    rows: [
      row('Render time', formatDuration(renderTime(pages))),
      ...pages
        .slice(0, itemRowLimit)
        .map(({ duration, index, name }) =>
          row(formatDuration(duration), cutText(name), { link: `${profileLink(token, 'templates')}#render-${index}` }),
        ),
    ],
  })
}

/** Creates the item of HTTP client calls; `undefined` without any. */
export function toCallItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const calls = readCalls(profile).calls.map(call => ({ tone: toneOfCall(call), ...call }))
  const count = Math.max(profile.summary.calls, calls.length)
  if (count === 0) return undefined
  const link = profileLink(token, 'http')
  return item('http', 'HTTP client', {
    text: formatCount(count, 'HTTP client call'),
    tone: calls.some(({ tone }) => tone === 'error') ? 'error' : 'plain',
    link,
    rows: calls.slice(0, itemRowLimit).map(call =>
      row(`${call.status || '–'} ${call.method}`, `${cutText(call.url)} · ${formatDuration(durationOf(call))}`, {
        link: `${link}#call-${call.index}`,
        tone: call.tone,
      }),
    ),
  })
}

/** Creates the item of sub-requests; `undefined` without any. */
export function toSubRequestItem({ children, profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const tokens = profile.children
  if (tokens.length === 0) return undefined
  const describe = (token: string) => {
    const child = children.find(other => other.token === token)
    const view = child && toSummaryView(child)
    const value = view === undefined ? token : [view.controller || 'no controller', view.duration, token].join(' · ')
    return row(view?.status ?? '–', cutText(value), { link: profileLink(token), tone: view?.tone ?? 'plain' })
  }
  return item('sub-requests', 'Sub-requests', {
    text: formatCount(tokens.length, 'sub-request'),
    link: profileLink(token, 'time'),
    isMinor: true,
    rows: tokens.slice(0, itemRowLimit).map(describe),
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

function toneOfCall({ error, status }: StoredCall): Tone {
  return error !== '' || status >= 400 ? 'error' : 'plain'
}
