import type { SourceProblem } from '../../../../kernel/bundle.ts'
import { linkToPlace } from '../../insight/findings/finding.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import { toPlainText } from '../../insight/overview/sentence-parts.ts'
import type { TimePart } from '../../insight/overview/time-parts.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import {
  type FormattedTime,
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatNumber,
  shorten,
} from '../../profile/format.ts'
import { brokenLink, profileLink } from '../../profile/links.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import { type BrokenSources, sourceStates } from '../profiler-application.ts'

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

/** The fields of an item; most have a default. */
type ItemInit = Partial<ToolbarItem> & Pick<ToolbarItem, 'link' | 'rows' | 'text'>

/** Creates an item. */
export function item(id: string, title: string, init: ItemInit): ToolbarItem {
  return { id, title, pill: '', tone: 'plain', isMinor: false, lead: false, shares: [], ...init }
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

/** Creates the item that names the changed files that cannot be used: this page is older than they are. */
export function toBuildItem(
  { target }: SummaryView,
  { problems, served }: BrokenSources,
  editor: EditorLinks,
): ToolbarItem[] {
  const [first] = problems
  if (first === undefined) return []
  const view = ({ column, file, line }: SourceProblem) => editor.view({ file, line, column })
  const link = brokenLink(target)
  return [
    item('build', 'Build', {
      pill: formatCount(problems.length, served === 'current' ? 'type error' : 'mistake'),
      text: view(first).place,
      tone: 'error',
      link,
      rows: [
        row('Build', `${sourceStates[served]}.`, { link }),
        ...limitRows(
          problems.map(problem => row('', cutText(problem.message), { link, tone: 'error', place: view(problem) })),
          link,
        ),
      ],
    }),
  ]
}

/** Milliseconds: longer requests are slow, as in Symfony. */
const slow = 1000

/** The most parts of the time; others are shown together. */
const partLimit = 6

/** Creates the item that divides the time of a request among its parts. */
export function toTimeItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  { parts, sentence }: Overview,
): ToolbarItem {
  const { duration } = profile.summary
  const shown = parts.slice(0, partLimit)
  const left = parts.slice(partLimit).reduce((sum, { time }) => sum + time, 0)
  return item('time', 'Time', {
    text: formatDuration(duration),
    tone: duration > slow ? 'warning' : 'plain',
    link: profileLink(token, 'time'),
    lead: { text: toPlainText(sentence), link: profileLink(token, 'overview') },
    rows: [
      row('Total', formatDuration(duration)),
      ...shown.map(({ kind, label, place, time }) =>
        row(label, formatMicroseconds(time), { category: kind, link: linkToPlace(place, token) }),
      ),
      ...(left === 0 ? [] : [row('Other', formatMicroseconds(left), { category: 'unknown' })]),
    ],
    shares: toShares([...shown, { kind: 'unknown', time: left }]),
  })
}

function toShares(parts: readonly Pick<TimePart, 'kind' | 'time'>[]): ToolbarItem['shares'] {
  const total = parts.reduce((sum, { time }) => sum + time, 0)
  let x = 0
  return parts
    .filter(({ time }) => time > 0)
    .map(({ kind, time }) => {
      const share = { category: kind, x, width: Math.round((time / total) * 1000) }
      x += share.width
      return share
    })
}
