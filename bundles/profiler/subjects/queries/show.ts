import { toList, toSpan, writeCaller, writeRest } from '../../export/markdown-text.ts'
import { toneOf } from '../../insight/findings/finding.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { entryLimit, type SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, limitRows, row, type ToolbarItem, type ToolbarProfile } from '../../panels/toolbar-items.ts'
import { formatCaller } from '../../profile/callers.ts'
import { formatCount, formatDuration, formatNumber } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { countFor, workTime } from '../../profile/work.ts'
import { countFailedQueries, countQueries, type QuerySet, readQueries, type StoredQuery, shapeOf } from './read.ts'
import {
  countOmitted,
  describeRows,
  type Kind,
  listMetrics,
  slowestOf,
  toQueryFacts,
  viewQueries,
} from './show-list.ts'
import { viewStatements } from './show-statement.ts'

/** The queries of databases: their statement shapes, then each of them. */
export const databaseView: SubjectView = {
  ...createView('database', 'Database', 'No queries of a database.'),

  toItems(shown) {
    const { queryTime } = shown.profile.summary
    const count = countQueries('database', shown.profile)
    if (count === 0) return []
    const text = `${formatCount(count, 'query', 'queries')}, ${formatDuration(queryTime)}`
    return [toItem('database', databaseView, { text, order: 100 }, shown)]
  },

  /** The failed queries of databases and caches, the latest last. */
  onErrorPage: {
    async toView({ profile, token }, { editor, view }) {
      const { earlier, shown } = findFailed(profile)
      if (shown.length === 0) return false
      const toView = async (query: StoredQuery) => {
        const { caller, index, kind } = query
        const views = await viewStatements(kind, [query], view)
        return {
          ...editor.view(caller),
          ...toQueryFacts(query),
          statement: views.get(shapeOf(query))?.whole,
          panelLink: token === '' ? '' : `${profileLink(profile.summary.token, kind)}#query-${index}`,
        }
      }
      return { queries: await Promise.all(shown.map(toView)), earlier }
    },

    toMarkdown(profile) {
      const { shown } = findFailed(profile)
      return shown.length === 0 ? [] : ['## Failed queries', toList(shown, shown.length, writeQuery)]
    },
  },
}

/** The queries of caches. */
export const cacheView: SubjectView = {
  ...createView('cache', 'Cache', 'No cache calls.'),

  toItems(shown) {
    const count = countQueries('cache', shown.profile)
    if (count === 0) return []
    return [toItem('cache', cacheView, { text: formatCount(count, 'cache call'), order: 110, isMinor: true }, shown)]
  },
}

/** The last failed queries, which the error page shows. */
const failedLimit = 3

function findFailed(profile: Profile): { readonly shown: readonly StoredQuery[]; readonly earlier: number } {
  const failed = readQueries(profile).queries.filter(({ error }) => error !== '')
  const shown = failed.slice(-failedLimit)
  return { shown, earlier: failed.length - shown.length }
}

function createView(kind: Kind, label: string, nothing: string): SubjectView {
  return {
    name: kind,
    label,
    template: 'profiler/panels/queries',
    stored: ['queries'],

    hasContent: ({ profile }) => readQueries(profile)[kind].queries.length > 0,

    countBad: profile => countFailedQueries(kind, profile),

    badge: ({ profile }) => countFor(countFailedQueries(kind, profile), countQueries(kind, profile)),

    toView: (shown, app) => viewQueries(kind, shown, app),

    toEntries: profile =>
      readQueries(profile)
        [kind].queries.slice(0, entryLimit)
        .map(({ index, text }) => ({ group: 'Query', label: text, anchor: `query-${index}` })),

    nothing,

    toMarkdown({ profile }, limit) {
      const { queries, shapes } = readQueries(profile)[kind]
      if (queries.length === 0) return []
      return [
        `## ${label}`,
        listMetrics(kind, profile)
          .map(({ name, value }) => `${name}: ${value}`)
          .join('; '),
        ...writeRest(countOmitted(kind, profile)),
        '### Statement shapes',
        toList(shapes, limit, writeShape),
        '### Queries',
        toList(queries, limit, writeQuery, ({ error }) => (error === '' ? 1 : 0)),
      ]
    },
  }
}

function writeShape({ queries, text, total }: QuerySet): string {
  const places = [...new Set(queries.map(({ caller }) => formatCaller(caller)))].filter(place => place !== '')
  const facts = [
    `${queries.length} × ${toSpan(oneLine(text))}: ${formatDuration(total)}, slowest ${formatDuration(slowestOf(queries))}`,
    describeRows(queries),
    places.length === 0 ? '' : `at ${places.slice(0, placeLimit).map(toSpan).join(', ')}`,
  ]
  return facts.filter(Boolean).join('; ')
}

/** More places of a statement shape are not listed. */
const placeLimit = 5

function writeQuery(query: StoredQuery): string {
  const { caller, text } = query
  const { code, commands, connection, error, number, parameters, start, time, transaction, twin, unknown } =
    toQueryFacts(query)
  const values = parameters.map(({ name, value }) => `${toSpan(name)} ${toSpan(value)}`)
  const facts = [
    `${number}. +${start} ${toSpan(oneLine(text))}: ${time || 'not finished'}`,
    toSpan(connection),
    describeRows([query]),
    values.length === 0 ? unknown : `with ${values.join(', ')}`,
    error && `failed: ${toSpan(error)}${code && ` (${toSpan(code)})`}`,
    twin,
    commands && `batch of ${commands}`,
    transaction && `transaction ${transaction}`,
    caller.file === undefined ? '' : writeCaller(caller),
  ]
  return facts.filter(Boolean).join('; ')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function toItem(
  panel: Kind,
  view: SubjectView,
  init: Pick<ToolbarItem, 'order' | 'text'> & Partial<ToolbarItem>,
  { editor, findings, profile, summary }: ToolbarProfile,
): ToolbarItem {
  const { duplicates, queries, shapes } = readQueries(profile)[panel]
  const link = profileLink(summary.token, panel)
  const [worst] = findings.filter(({ place }) => place?.panel === panel)
  const hasFailed = queries.some(({ error }) => error !== '')
  // They are sorted by time.
  const rows = limitRows(
    shapes.map(shape => toRow(shape, link, editor)),
    link,
  )
  const repeated = { link: `${link}&show=duplicate`, tone: 'warning' } as const
  return item(view, {
    ...init,
    tone: hasFailed ? 'error' : worst === undefined ? 'plain' : toneOf(worst),
    link,
    rows: duplicates.length === 0 ? rows : [...rows, row('Duplicates', formatNumber(duplicates.length), repeated)],
  })
}

/** The row of a statement: the time of all its queries, and a link to the slowest of them. */
function toRow({ queries, text, total }: QuerySet, link: string, editor: EditorLinks): ToolbarItem['rows'][number] {
  const [slowest] = queries.toSorted((one, other) => workTime(other) - workTime(one))
  const times = queries.length === 1 ? '' : `${formatNumber(queries.length)} × `
  return row(formatDuration(total), cutText(`${times}${text}`), {
    link: `${link}#query-${slowest?.index}`,
    tone: queries.some(({ error }) => error !== '') ? 'error' : 'plain',
    place: editor.viewCaller(slowest?.caller),
  })
}
