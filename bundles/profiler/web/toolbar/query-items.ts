import { toneOf } from '../../insight/findings/finding.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import { formatCount, formatDuration, formatNumber } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { type QueryGroup, type QuerySet, queryDuration, readQueries } from '../../profile/queries.ts'
import type { EditorLinks } from '../editor-links.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from './toolbar-items.ts'

/** Makes the item of the queries of databases; `undefined` without any. */
export function toDatabaseItem(
  shown: ShownProfile,
  view: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { queries, queryTime } = shown.profile.summary
  const { database } = readQueries(shown.profile)
  const count = Math.max(queries, database.queries.length)
  if (count === 0) return undefined
  const text = `${formatCount(count, 'query', 'queries')}, ${formatDuration(queryTime)}`
  return toItem('database', 'Database', { text }, database, shown, view, editor)
}

/** Makes the item of the queries of caches; `undefined` without any. */
export function toCacheItem(
  shown: ShownProfile,
  view: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { cache } = readQueries(shown.profile)
  const count = Math.max(shown.profile.summary.cacheCalls, cache.queries.length)
  if (count === 0) return undefined
  return toItem('cache', 'Cache', { text: formatCount(count, 'cache call'), isMinor: true }, cache, shown, view, editor)
}

function toItem(
  panel: 'database' | 'cache',
  title: string,
  init: Pick<ToolbarItem, 'text'> & Partial<ToolbarItem>,
  { duplicates, queries, shapes }: QueryGroup,
  { findings }: ShownProfile,
  { token }: SummaryView,
  editor: EditorLinks,
): ToolbarItem {
  const link = profileLink(token, panel)
  const [worst] = findings.filter(({ place }) => place?.panel === panel)
  const tone: Tone = queries.some(({ error }) => error !== '') ? 'error' : worst === undefined ? 'plain' : toneOf(worst)
  return item(panel, title, {
    ...init,
    tone,
    link,
    rows: [
      // They are sorted by time.
      ...limitRows(
        shapes.map(shape => toRow(shape, link, editor)),
        link,
      ),
      ...(duplicates.length === 0
        ? []
        : [row('Duplicates', formatNumber(duplicates.length), { link: `${link}&show=duplicate`, tone: 'warning' })]),
    ],
  })
}

/** The row of a statement: the time of all its queries, and a link to the slowest of them. */
function toRow({ queries, text, total }: QuerySet, link: string, editor: EditorLinks): ToolbarItem['rows'][number] {
  const [slowest] = queries.toSorted((one, other) => queryDuration(other) - queryDuration(one))
  const times = queries.length === 1 ? '' : `${formatNumber(queries.length)} × `
  return row(formatDuration(total), cutText(`${times}${text}`), {
    link: `${link}#query-${slowest?.index}`,
    tone: queries.some(({ error }) => error !== '') ? 'error' : 'plain',
    place: editor.viewCaller(slowest?.caller),
  })
}
