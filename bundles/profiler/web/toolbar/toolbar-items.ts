import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import { durationOf, readCalls } from '../../profile/calls.ts'
import { controllerTimes, readHandledTime } from '../../profile/event-outline.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatDuration, shorten } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { readQueries } from '../../profile/queries.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'

/** A line of the details of an item. */
interface ToolbarRow {
  readonly name: string
  readonly value: string
  /** Empty when it has no page of its own. */
  readonly link: string
  readonly tone: Tone
  /** The part of the bar above it that it belongs to; usually empty. */
  readonly category: string
}

/** An item of the bar: a link to a panel, with details that unfold. */
export interface ToolbarItem {
  /** The name of its panel, or its own: unique among the items. */
  readonly id: string
  /** Its name for screen readers. */
  readonly title: string
  /** A highlighted value such as the status; may be empty. */
  readonly pill: string
  readonly text: string
  readonly tone: Tone
  readonly link: string
  /** Whether it is hidden on narrow screens. */
  readonly isMinor: boolean
  readonly rows: readonly ToolbarRow[]
  /** The shares of a whole, as a bar of 1,000 units; empty without a bar. */
  readonly shares: readonly { readonly category: string; readonly x: number; readonly width: number }[]
}

/** The fields of an item; most have a default. */
type ItemInit = Partial<ToolbarItem> & Pick<ToolbarItem, 'link' | 'rows' | 'text'>

/** Creates an item. */
export function item(id: string, title: string, init: ItemInit): ToolbarItem {
  return { id, title, pill: '', tone: 'plain', isMinor: false, shares: [], ...init }
}

/** Creates a row, by default a plain one. */
export function row(name: string, value: string, init: Partial<ToolbarRow> = {}): ToolbarRow {
  return { name, value, link: '', tone: 'plain', category: '', ...init }
}

const textLimit = 300

/** Cuts a long text. */
export function cutText(text: string): string {
  return shorten(text, textLimit)
}

/** Milliseconds: longer requests are slow, as in Symfony. */
const slow = 1000

/** Milliseconds: a shorter time of sending gets no row. */
const leastSending = 1

/** Creates the item that divides the time of a request among its parts. */
export function toTimeItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem {
  const total = profile.summary.duration
  const handled = readHandledTime(profile)
  const controllers = controllerTimes(readEventTree(profile).roots, total * 1000)
  const controller = controllers.reduce((sum, duration) => sum + duration / 1000, 0)
  const templates = renderTime(readRenders(profile).pages)
  const http = readCalls(profile).calls.reduce((sum, call) => sum + durationOf(call), 0)
  const { cache, database } = readQueries(profile)
  const waited = templates + http + database.covered + cache.covered
  const own = Math.max(0, controller - waited)
  const parts: [name: string, category: string, duration: number][] = [
    ['Kernel and listeners', 'section', Math.max(0, handled - Math.max(controller, waited))],
    ['Controller', 'controller', own],
    ['Templates', 'template', templates],
    ['Database', 'database', database.covered],
    ['Cache', 'cache', cache.covered],
    ['HTTP client', 'http', http],
    ['Sending', 'default', total - handled >= leastSending ? total - handled : 0],
  ]
  const shown = parts.filter(([, , duration]) => duration > 0)
  return item('time', 'Time', {
    text: formatDuration(total),
    tone: total > slow ? 'warning' : 'plain',
    link: profileLink(token, 'time'),
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
