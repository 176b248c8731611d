import { formatSql } from '../../../../lib/sql/format.ts'
import { highlightSql, type Token } from '../../../../lib/stack/highlight.ts'
import { TextMemo } from '../../../../lib/text/text-memo.ts'
import { HtmlFragment, type View } from '../../../../lib/view/view.ts'
import { type Section, toList, toSpan, toValueSpan, writeCaller } from '../../export/markdown-text.ts'
import { toneOf } from '../../insight/findings/finding.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView, Tone } from '../../insight/summary-view.ts'
import { formatCaller } from '../../profile/code.ts'
import { formatCount, formatDuration, formatNumber, shorten, toOneLine } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { workTime } from '../../profile/work.ts'
import type { EditorLinks } from '../../web/editor-links.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../../web/toolbar/toolbar-items.ts'
import { countQueries, type QueryGroup, type QuerySet, readQueries, type StoredQuery, shapeOf } from './read.ts'

/** The queries of databases: their statement shapes, then each of them. */
export const databaseSection: Section = {
  panel: 'database',
  nothing: 'No queries of a database.',
  write({ profile }, limit) {
    const { database, omitted } = readQueries(profile)
    return writeGroup('Database', database, omitted, limit)
  },
}

/** The queries of caches. */
export const cacheSection: Section = {
  panel: 'cache',
  nothing: 'No cache calls.',
  write({ profile }, limit) {
    const { cache, omitted } = readQueries(profile)
    return writeGroup('Cache', cache, omitted, limit)
  },
}

function writeGroup(title: string, group: QueryGroup, omitted: number, limit: number): string[] {
  const { covered, duplicates, queries, shapes } = group
  if (queries.length === 0) return []
  const facts = [
    `${formatCount(queries.length, 'query', 'queries')} of ${formatCount(shapes.length, 'statement shape')}`,
    formatDuration(covered),
    ...(duplicates.length === 0 ? [] : [formatCount(duplicates.length, 'duplicate')]),
    ...(omitted === 0 ? [] : [`${formatCount(omitted, 'further query', 'further queries')} not recorded`]),
  ]
  return [
    `## ${title}`,
    `${facts.join(', ')}.`,
    '### Statement shapes',
    toList(shapes, limit, writeShape),
    '### Queries',
    toList(queries, limit, writeQuery),
  ]
}

function writeShape({ queries, text, total }: QuerySet): string {
  const rows = queries.reduce((sum, { rows = 0 }) => sum + rows, 0)
  const slowest = Math.max(...queries.map(workTime))
  const places = [...new Set(queries.map(({ caller }) => formatCaller(caller)))].filter(place => place !== '')
  const facts = [
    `${queries.length} × ${toSpan(oneLine(text))}: ${formatDuration(total)}, slowest ${formatDuration(slowest)}`,
    ...(rows === 0 ? [] : [formatCount(rows, 'row')]),
    ...(places.length === 0 ? [] : [`at ${places.slice(0, placeLimit).map(toSpan).join(', ')}`]),
  ]
  return facts.join('; ')
}

/** More places of a statement shape are not listed. */
const placeLimit = 5

/** Writes a query as one line. */
export function writeQuery(query: StoredQuery): string {
  const { batch, caller, code, end, error, index, namespace, parameters = [], rows, start, system } = query
  const { text, transaction, twin } = query
  const where = [system, namespace ?? ''].filter(word => word !== '').join(' ')
  const facts = [
    `${index + 1}. +${formatDuration(start)} ${toSpan(oneLine(text))}: ${end === undefined ? 'not finished' : formatDuration(workTime(query))}`,
    toSpan(where),
    ...(rows === undefined ? [] : [formatCount(rows, 'row')]),
    ...(parameters.length === 0
      ? []
      : [`with ${parameters.map(([name, value]) => `${toSpan(name)} ${toValueSpan(value)}`).join(', ')}`]),
    ...(error === '' ? [] : [`failed: ${toSpan(error)}${code === undefined ? '' : ` (${toSpan(code)})`}`]),
    ...(twin === undefined ? [] : [`duplicate of ${twin + 1}`]),
    ...(batch === undefined ? [] : [`batch of ${batch}`]),
    ...(transaction === undefined ? [] : [`transaction ${transaction}`]),
    ...(caller.file === undefined ? [] : [writeCaller(caller)]),
  ]
  return facts.join('; ')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Makes the item of the queries of databases; `undefined` without any. */
export function toDatabaseItem(
  shown: ShownProfile,
  view: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { database } = readQueries(shown.profile)
  const count = countQueries('database', shown.profile)
  if (count === 0) return undefined
  const text = `${formatCount(count, 'query', 'queries')}, ${formatDuration(shown.profile.summary.queryTime)}`
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
  const count = countQueries('cache', shown.profile)
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
export function toRow(
  { queries, text, total }: QuerySet,
  link: string,
  editor: EditorLinks,
): ToolbarItem['rows'][number] {
  const [slowest] = queries.toSorted((one, other) => workTime(other) - workTime(one))
  const times = queries.length === 1 ? '' : `${formatNumber(queries.length)} × `
  return row(formatDuration(total), cutText(`${times}${text}`), {
    link: `${link}#query-${slowest?.index}`,
    tone: queries.some(({ error }) => error !== '') ? 'error' : 'plain',
    place: editor.viewCaller(slowest?.caller),
  })
}

/** A statement or a command as a page shows it. */
export interface StatementView {
  /** One line, with as much of it as there is room for. */
  readonly line: HtmlFragment
  /** Whether the line does not show all of it. */
  readonly isCut: boolean
  /** All of it; SQL is laid out. */
  readonly whole: HtmlFragment
}

/** Characters of the line. */
const lineLimit = 160

/** Further different statements of a page have no colours. */
const colourLimit = 60

/** A longer statement has no colours: the time of the highlighter may grow with the square of its length. */
const longestColoured = 5000

/** Shows the statements of pages, and keeps their views for the next page. The texts are masked. */
export class StatementViews {
  readonly #view: View
  readonly #kept = {
    database: new TextMemo<StatementView>(300, longestColoured),
    cache: new TextMemo<StatementView>(300, longestColoured),
  }

  constructor(view: View) {
    this.#view = view
  }

  /** Creates the views of the different statements of one page, by their shapes: the colours depend on the system. */
  async create(
    kind: StoredQuery['kind'],
    statements: Iterable<Statement>,
  ): Promise<ReadonlyMap<string, StatementView>> {
    const views = new Map<string, StatementView>()
    const kept = this.#kept[kind]
    let coloured = 0
    for (const statement of statements) {
      const { text } = statement
      const shape = shapeOf(statement)
      if (views.has(shape)) continue
      const known = kept.get(shape)
      const hasColours = known === undefined && coloured < colourLimit && text.length <= longestColoured
      const view = known ?? (await this.#createOne(statement, hasColours ? colours[kind] : plain))
      views.set(shape, view)
      if (!hasColours) continue
      coloured++
      kept.set(shape, view)
    }
    return views
  }

  async #createOne({ system, text }: Statement, { layOut, split }: Colours): Promise<StatementView> {
    const folded = toOneLine(text)
    return {
      line: await this.#render(split(shorten(folded, lineLimit).toWellFormed(), system)),
      isCut: folded.length > lineLimit,
      whole: await this.#render(split(layOut(text, system), system)),
    }
  }

  async #render(lines: readonly (readonly Token[])[]): Promise<HtmlFragment> {
    const tokens = lines.flatMap((line, index) => (index === 0 ? line : [lineBreak, ...line]))
    return new HtmlFragment(await this.#view.render('profiler/tokens', { tokens }))
  }
}

const lineBreak: Token = { kind: '', text: '\n' }

/** A statement, and the system whose words it has. */
type Statement = Pick<StoredQuery, 'system' | 'text'>

/** How a kind of text is laid out and coloured. */
interface Colours {
  readonly layOut: (text: string, system: string) => string
  readonly split: (text: string, system: string) => Token[][]
}

const plain: Colours = { layOut: text => text, split: text => [[{ kind: '', text }]] }

const colours: Readonly<Record<StoredQuery['kind'], Colours>> = {
  database: { layOut: formatSql, split: highlightSql },
  cache: { layOut: text => text, split: splitCommand },
}

/** Splits a command of a cache into its name, its key, and the rest. */
function splitCommand(text: string): Token[][] {
  const end = (from: number) => from + text.slice(from).search(/\s|$/)
  const afterName = end(0)
  const afterKey = end(Math.min(afterName + 1, text.length))
  const tokens: Token[] = [
    { kind: 'keyword', text: text.slice(0, afterName) },
    { kind: 'name', text: text.slice(afterName, afterKey) },
    { kind: '', text: text.slice(afterKey) },
  ]
  return [tokens.filter(({ text }) => text !== '')]
}
