import { formatDuration } from '../format/format-duration.ts'
import { recordLink } from '../links.ts'
import type { SummaryView } from '../pages/to-summary-view.ts'
import { readEventTree } from '../reading/event-tree.ts'
import { readHandledTime } from '../reading/handled-time.ts'
import { controllerTimes } from '../reading/kernel-gaps.ts'
import { durationOf, readCalls } from '../reading/read-calls.ts'
import { readRenders, renderTime } from '../reading/read-renders.ts'
import { asNumber } from '../reading/read-soft.ts'
import { item, row, type ToolbarItem, type ToolbarSubject } from './toolbar-item.ts'

/** Milliseconds from which on a page is slow, as Symfony sees it. */
const slow = 1000

/** Milliseconds of sending that are worth a row. */
const leastSending = 1

/** Tells what the time of a request went into. */
export function toTimeItem({ profile }: ToolbarSubject, { token }: SummaryView): ToolbarItem {
  const total = asNumber(profile.summary.duration)
  const handled = readHandledTime(profile)
  const controllers = controllerTimes(readEventTree(profile).roots, total * 1000)
  const controller = controllers.reduce((sum, duration) => sum + duration / 1000, 0)
  const templates = renderTime(readRenders(profile).pages)
  const http = readCalls(profile).calls.reduce((sum, call) => sum + durationOf(call), 0)
  const own = Math.max(0, controller - templates - http)
  const parts: [name: string, category: string, duration: number][] = [
    ['Kernel and listeners', 'section', Math.max(0, handled - Math.max(controller, templates + http))],
    ['Controller', 'controller', own],
    ['Templates', 'template', templates],
    ['Outgoing requests', 'http', http],
    ['Sending', 'default', total - handled >= leastSending ? total - handled : 0],
  ]
  const shown = parts.filter(([, , duration]) => duration > 0)
  return item('time', 'Time', {
    text: formatDuration(total),
    tone: total > slow ? 'warning' : 'plain',
    link: recordLink(token, 'time'),
    rows: [
      row('Total', formatDuration(total)),
      ...shown.map(([name, category, duration]) => row(name, formatDuration(duration), { category })),
    ],
    shares: toShares(shown),
  })
}

function toShares(parts: readonly (readonly [string, string, number])[]): ToolbarItem['shares'] {
  const total = parts.reduce((sum, [, , duration]) => sum + duration, 0)
  let x = 0
  return parts.map(([, category, duration]) => {
    const share = { category, x, width: Math.round((duration / total) * 1000) }
    x += share.width
    return share
  })
}
