import { toneOf } from '../../insight/findings/finding.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import { formatCount, formatDuration, formatNumber } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { type QueryGroup, queryDuration, readQueries } from '../../profile/queries.ts'
import { cutText, item, row, type ToolbarItem } from './toolbar-items.ts'

/** The most rows of slow queries, and of repeated statements. */
const slowestLimit = 5
const repeatedLimit = 3

/** Makes the item of the queries of databases; `undefined` without any. */
export function toDatabaseItem(shown: ShownProfile, view: SummaryView): ToolbarItem | undefined {
  const { queries, queryTime } = shown.profile.summary
  const { database } = readQueries(shown.profile)
  const count = Math.max(queries, database.queries.length)
  if (count === 0) return undefined
  const text = `${formatCount(count, 'query', 'queries')}, ${formatDuration(queryTime)}`
  return toItem('database', 'Database', { text }, database, shown, view)
}

/** Makes the item of the queries of caches; `undefined` without any. */
export function toCacheItem(shown: ShownProfile, view: SummaryView): ToolbarItem | undefined {
  const { cache } = readQueries(shown.profile)
  const count = Math.max(shown.profile.summary.cacheCalls, cache.queries.length)
  if (count === 0) return undefined
  return toItem('cache', 'Cache', { text: formatCount(count, 'cache call'), isMinor: true }, cache, shown, view)
}

function toItem(
  panel: 'database' | 'cache',
  title: string,
  init: Pick<ToolbarItem, 'text'> & Partial<ToolbarItem>,
  { duplicates, queries, shapes }: QueryGroup,
  { findings }: ShownProfile,
  { token }: SummaryView,
): ToolbarItem {
  const link = profileLink(token, panel)
  const [worst] = findings.filter(({ place }) => place?.panel === panel)
  const slowest = queries.toSorted((one, other) => queryDuration(other) - queryDuration(one)).slice(0, slowestLimit)
  const repeated = shapes.filter(({ queries }) => queries.length > 1).slice(0, repeatedLimit)
  const linkTo = (index: number) => `${link}#query-${index}`
  const tone: Tone = queries.some(({ error }) => error !== '') ? 'error' : worst === undefined ? 'plain' : toneOf(worst)
  return item(panel, title, {
    ...init,
    tone,
    link,
    rows: [
      ...slowest.map(query =>
        row(formatDuration(queryDuration(query)), cutText(query.text), {
          link: linkTo(query.index),
          tone: query.error === '' ? 'plain' : 'error',
        }),
      ),
      ...repeated.map(({ queries, text }) =>
        row(`${formatNumber(queries.length)} ×`, cutText(text), { link: linkTo(queries[1]?.index ?? 0) }),
      ),
      ...(duplicates.length === 0
        ? []
        : [row('Duplicates', formatNumber(duplicates.length), { link, tone: 'warning' })]),
    ],
  })
}
