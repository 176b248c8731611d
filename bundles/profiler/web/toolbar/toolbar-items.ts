import type { Finding } from '../../insight/findings/finding.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import { durationOf, readCalls } from '../../profile/calls.ts'
import { controllerTimes, readHandledTime } from '../../profile/event-outline.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatDuration, shorten } from '../../profile/format.ts'
import { recordLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { asNumber } from '../../profile/read-soft.ts'
import { readRenders, renderTime } from '../../profile/renders.ts'
import type { JsonObject } from '../../profile/schema.ts'

/** What a toolbar is about. */
export interface ToolbarSubject {
  readonly profile: Profile
  readonly facts: JsonObject
  /** Those sub-requests whose records are there. */
  readonly children: readonly ProfileSummary[]
  /** What could be better about it, the worst first. */
  readonly findings: readonly Finding[]
}

/** A line of an item's details. */
export interface ToolbarRow {
  readonly name: string
  readonly value: string
  /** Empty where there is nothing to go to. */
  readonly link: string
  readonly tone: Tone
  /** Which part of the bar above it this is about; mostly empty. */
  readonly category: string
}

/** One thing in the bar: a link to its panel, with details that unfold. */
export interface ToolbarItem {
  /** Of the panel it leads to, or of the thing itself: unique among the items. */
  readonly id: string
  /** What it is about, for those who do not see where it stands. */
  readonly title: string
  /** What stands out, such as the status; may be empty. */
  readonly pill: string
  readonly text: string
  readonly tone: Tone
  readonly link: string
  /** Whether it is left away where there is little room. */
  readonly isMinor: boolean
  readonly rows: readonly ToolbarRow[]
  /** How a whole is divided, as a bar of 1,000 units; empty where it is not. */
  readonly shares: readonly { readonly category: string; readonly x: number; readonly width: number }[]
}

/** What an item must be given. */
export type ItemInit = Partial<ToolbarItem> & Pick<ToolbarItem, 'link' | 'rows' | 'text'>

/** Makes an item of what is special about it. */
export function item(id: string, title: string, init: ItemInit): ToolbarItem {
  return { id, title, pill: '', tone: 'plain', isMinor: false, shares: [], ...init }
}

/** Makes a row, a plain one unless told else. */
export function row(name: string, value: string, init: Partial<ToolbarRow> = {}): ToolbarRow {
  return { name, value, link: '', tone: 'plain', category: '', ...init }
}

const textLimit = 300

/** Cuts a long text: the bar has little room. */
export function cut(text: string): string {
  return shorten(text, textLimit)
}

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
    ['HTTP client', 'http', http],
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
