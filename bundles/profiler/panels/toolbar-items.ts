import type { Overview } from '../insight/overview/overview.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import type { SummaryView, Tone } from '../insight/summary-view.ts'
import { type FormattedTime, formatNumber, shorten } from '../profile/format.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'

/** A line of the details of an item. */
export interface ToolbarRow {
  readonly name: string
  readonly value: string
  /** The page of the item; empty if it has none. */
  readonly link: string
  readonly tone: Tone
  /** The part of the bar above it that it belongs to; usually empty. */
  readonly category: string
  /** Shown after the value. */
  readonly time: FormattedTime | false
  /** Shown after the value, which may be empty. */
  readonly place: PlaceView | false
}

/** An item of the bar: a link to a panel, with details that unfold. */
export interface ToolbarItem {
  /** The name of its panel, or its own: unique among the items. */
  readonly id: string
  /** Its name for screen readers. */
  readonly title: string
  /**
   * Items are in the order of this number. Those of other bundles have 160; what is less than 80 is about the answer.
   */
  readonly order: number
  /** A highlighted value such as the status; may be empty. */
  readonly pill: string
  readonly text: string
  readonly tone: Tone
  readonly link: string
  /** Whether it is hidden on narrow screens. */
  readonly isMinor: boolean
  /** A sentence above the rows, with the page that explains it. */
  readonly lead: { readonly text: string; readonly link: string } | false
  readonly rows: readonly ToolbarRow[]
  /** The shares of a whole, as a bar of 1,000 units; empty without a bar. */
  readonly shares: readonly { readonly category: string; readonly x: number; readonly width: number }[]
}

/** A profile that the toolbar shows. */
export interface ToolbarProfile extends ShownProfile {
  readonly summary: SummaryView
  readonly overview: Overview
  readonly editor: EditorLinks
}

/** The fields of an item; most have a default. */
type ItemInit = Partial<ToolbarItem> & Pick<ToolbarItem, 'link' | 'order' | 'rows' | 'text'>

/** Creates an item with the name and the label of its view, or with its own. */
export function item({ name, label }: { readonly name: string; readonly label: string }, init: ItemInit): ToolbarItem {
  return { id: name, title: label, pill: '', tone: 'plain', isMinor: false, lead: false, shares: [], ...init }
}

/** Creates a row, by default a plain one. */
export function row(name: string, value: string, init: Partial<ToolbarRow> = {}): ToolbarRow {
  return { name, value, link: '', tone: 'plain', category: '', time: false, place: false, ...init }
}

/** The most rows of a list in an item. */
export const itemRowLimit = 5

/** The first rows of a list. If `left` more are not among them, the last row says so, and leads to the panel. */
export function limitRows(
  rows: readonly ToolbarRow[],
  link: string,
  left: number = rows.length - itemRowLimit,
  limit: number = itemRowLimit,
): ToolbarRow[] {
  const more = left > 0 ? [row('…', `${formatNumber(left)} more`, { link })] : []
  return [...rows.slice(0, limit), ...more]
}

const textLimit = 300

/** Cuts a long text. */
export function cutText(text: string): string {
  return shorten(text, textLimit)
}

/** Characters of a value in a row. */
export const rowLimit = 100
