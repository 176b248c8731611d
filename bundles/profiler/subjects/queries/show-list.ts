import type { Caller, CallerPlace } from '../../../../lib/stack/callers.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { resolveLocated } from '../../../../lib/stack/stack-frames.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { viewSource } from '../../panels/exceptions.ts'
import { toBar } from '../../panels/parts.ts'
import type { PanelModel, PanelProfile, PanelServices } from '../../panels/subject-view.ts'
import { nameFrame } from '../../profile/callers.ts'
import { formatCount, formatDuration, formatNumber, formatValue, type Row } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { formatWorkTime, hasClientLeft, type Period, periodOf, sumOfTimes, workTime } from '../../profile/work.ts'
import {
  controlOperations,
  countQueries,
  endsTransaction,
  lacksValues,
  operationOf,
  type QueryGroup,
  type QuerySet,
  readQueries,
  type StoredQuery,
  shapeOf,
  slowQuery,
  toSets,
} from './read.ts'
import { type StatementView, viewLine, viewStatements } from './show-statement.ts'

/** Databases and caches have a panel each. */
export type Kind = StoredQuery['kind']

/** Creates the panel of the queries of databases or of caches. */
export async function viewQueries(
  kind: Kind,
  { profile, query }: PanelProfile,
  { directory, editor, redactor, view }: PanelServices,
): Promise<PanelModel> {
  const group = readQueries(profile)[kind]
  const { queries } = group
  const sets = toQuerySets(kind, group)
  // The list has the line of a single query, too; a slow one is an answer.
  const leading = sets.filter(({ queries, total }) => queries.length > 1 || total >= slowQuery.warning)
  const views = await viewStatements(kind, [...queries, ...sets], view)
  const link = profileLink(profile.summary.token, kind)
  const filter = readQueryFilter(query, sets)
  const tables = { kind, views, editor, link, whole: sumOfTimes(queries), chosen: filter.shape }
  const sources = new SourceExcerpts(directory, redactor)
  const findLines = ({ file = '', line = 0 }: Caller) => {
    const path = resolveLocated(file, directory)
    const excerpt = sources.find(path, line)
    return viewSource(excerpt && { ...excerpt, file, line }).filter(({ number }) => Math.abs(number - line) <= 1)
  }
  const unfolded = query.get('code') ?? ''
  const all = createList(group, { profile, views, editor, sets, filter, link, unfolded, findLines })
  const list = filter.shape === '' ? all : all.filter(({ shape }) => String(shape) === filter.shape)
  return {
    isEmpty: queries.length === 0,
    isCache: kind === 'cache',
    panel: kind,
    table: `${kind}-queries`,
    action: profileLink(profile.summary.token),
    metrics: listMetrics(kind, profile),
    connections: connectionsOf(queries).join('; '),
    sample: countOmitted(kind, profile) > 0 && partOf(queries.length, countQueries(kind, profile)),
    sets:
      sets.length > 1 && sets.length < queries.length ? splitRows(leading.map(set => toSetRow(set, tables))) : false,
    choices: toChoices(list, filter),
    shape: filter.shape,
    allLink: `${link}#${kind}-queries`,
    text: filter.text,
    rows: list,
    whole: formatDuration(wholeOf(profile, queries).duration),
  }
}

/** More rows of a table are folded. */
const tableLimit = 5

function splitRows(rows: readonly PanelModel[]): PanelModel {
  return { first: rows.slice(0, tableLimit), more: rows.slice(tableLimit), left: Math.max(0, rows.length - tableLimit) }
}

/** Lists the numbers of all queries. */
export function listMetrics(kind: Kind, profile: Profile): Row[] {
  const { covered, duplicates, more, queries, shapes } = readQueries(profile)[kind]
  const count = countQueries(kind, profile)
  const elapsed = formatDuration(covered)
  const part = count > queries.length ? ` (${partOf(queries.length, count)})` : ''
  const failed = queries.filter(({ error }) => error !== '').length + more.failed
  const lookups = queries.flatMap(query => marksOf(query, new Set()).filter(mark => mark === 'hit' || mark === 'miss'))
  const hits = lookups.filter(mark => mark === 'hit').length
  const batches = queries.flatMap(({ batch }) => (batch === undefined ? [] : [batch]))
  const batched = batches.reduce((sum, commands) => sum + commands, 0)
  const keys = new Set(queries.map(cacheKeyOf).filter(Boolean)).size
  const transactions = findTransactions(queries).size
  const isCache = kind === 'cache'
  const rows = isCache ? undefined : rowsOf(queries)
  const some = (name: string, value: number, isMinor?: true) =>
    value === 0 ? [] : [{ name: `${name}${part}`, value: formatNumber(value), ...(isMinor && { isMinor }) }]
  return [
    {
      name: isCache ? 'Commands' : 'Queries',
      value: formatNumber(count),
    },
    ...(isCache ? some('Keys', keys) : some('Statement shapes', shapes.length === 1 ? 0 : shapes.length, true)),
    ...some('Duplicates', duplicates.length),
    { name: elapsed === formatDuration(sumOfTimes(queries)) ? 'Elapsed' : 'Elapsed (overlap removed)', value: elapsed },
    ...(count === 1 ? [] : [{ name: 'Slowest', value: formatDuration(Math.max(slowestOf(queries), more.longest)) }]),
    ...(rows === undefined ? [] : [{ name: `Rows${part}`, value: formatNumber(rows), isMinor: true as const }]),
    ...(lookups.length === 0 ? [] : [{ name: `Hits · misses${part}`, value: `${hits} · ${lookups.length - hits}` }]),
    ...(isCache ? some('Batches', batches.length) : some('Transactions', transactions)),
    ...(isCache ? some('Commands in batches', batched) : []),
    ...(failed === 0 ? [] : [{ name: 'Errors', value: formatNumber(failed) }]),
  ]
}

function partOf(recorded: number, count: number): string {
  return `${formatNumber(recorded)} of ${formatNumber(count)}`
}

/**
 * How many queries were only counted. The summary counts all, and the limit is that of databases and caches together.
 */
export function countOmitted(kind: Kind, profile: Profile): number {
  return Math.max(0, countQueries(kind, profile) - readQueries(profile)[kind].queries.length)
}

/** The facts of a query, which the panel, Markdown and the error page show. Those that are not known are empty. */
export function toQueryFacts(query: StoredQuery) {
  const { batch, code = '', error, namespace, number, parameters = [], rows } = query
  const { server, start, system, transaction, twin, twinNumber } = query
  return {
    number,
    connection: connectionOf({ namespace, server, system }),
    start: formatDuration(start),
    time: formatWorkTime(query),
    rows: rows === undefined ? '' : formatNumber(rows),
    // A parameter without a value is damaged.
    parameters: parameters.map(([name, value]) => ({ name, value: value === undefined ? '' : formatValue(value) })),
    unknown: lacksValues(query) ? 'values not recorded' : '',
    error,
    // The message of Redis begins with it.
    code: error.startsWith(code) ? '' : code,
    commands: batch === undefined ? '' : formatCount(batch, 'command'),
    twin: twin === undefined ? '' : `same as ${twinNumber}`,
    transaction: transaction ?? '',
  }
}

/** The connection of a query, such as `postgresql shop on localhost:5432`. */
function connectionOf({ namespace, server, system }: Pick<StoredQuery, 'namespace' | 'server' | 'system'>): string {
  const name = namespace === undefined ? system : `${system} ${namespace}`
  return server === undefined ? name : `${name} on ${server}`
}

/** The connections of some queries, such as `postgresql shop on localhost:5432`. */
function connectionsOf(queries: readonly StoredQuery[]): string[] {
  return [...new Set(queries.map(connectionOf))]
}

/** What the lines of sets are made with. */
interface TableParts {
  readonly kind: Kind
  readonly views: ReadonlyMap<string, StatementView>
  readonly editor: EditorLinks
  readonly link: string
  /** Milliseconds of all queries. */
  readonly whole: number
  /** The chosen shape of the filter. */
  readonly chosen: string
}

const placeLimit = 3

function toSetRow(set: QuerySet, { chosen, editor, kind, link, views, whole }: TableParts): PanelModel {
  const { id, queries, total } = set
  const places = new Map(queries.map(({ caller }) => editor.view(caller)).map(place => [place.place, place]))
  const known = [...places.values()].filter(({ place }) => place !== '')
  return {
    id: `shape-${id}`,
    isPlain: true,
    line: views.get(shapeOf(set))?.line,
    link: `${link}${chosen === String(id) ? '' : `&shape=${id}`}#${kind}-queries`,
    isChosen: chosen === String(id),
    places: known.slice(0, placeLimit),
    morePlaces: Math.max(0, known.length - placeLimit),
    facts: [
      { text: `${formatNumber(queries.length)} ×` },
      { text: formatDuration(total), title: 'in total' },
      {
        text: queries.length === 1 ? '' : `max ${formatDuration(slowestOf(queries))}`,
        title: 'the slowest',
        isMinor: true,
      },
      { text: describeRows(queries), isMinor: true },
    ],
    bars: [{ kind, ...toBar({ start: 0, duration: total }, { start: 0, duration: whole }) }],
  }
}

/** What the list is made with. */
interface ListParts extends Pick<TableParts, 'views' | 'editor' | 'link'> {
  /** The index of the query whose calls are shown with their code; empty for none. */
  readonly unfolded: string
  /** Reads the lines around a line, as they are now. */
  readonly findLines: (caller: Caller) => ReturnType<typeof viewSource>
  readonly profile: Profile
  readonly sets: readonly QuerySet[]
  readonly filter: QueryFilter
}

function createList(
  { duplicates, queries }: QueryGroup,
  { editor, filter, findLines, link, profile, sets, unfolded, views }: ListParts,
) {
  const whole = wholeOf(profile, queries)
  const transactions = findTransactions(queries)
  const shapes = new Map(sets.flatMap(({ id, queries }) => queries.map(({ index }) => [index, id] as const)))
  const repeated = new Set(duplicates.map(({ index }) => index))
  const since = profile.collectors.late?.since ?? Number.POSITIVE_INFINITY
  const hasOneConnection = connectionsOf(queries).length === 1
  const firsts = new Map<string, StoredQuery>()
  return queries.map(query => {
    const { code = '', end, index, start, text, twin } = query
    const first = firsts.get(shapeOf(query)) ?? query
    firsts.set(shapeOf(query), first)
    const statement = views.get(shapeOf(query))
    const isInLine = statement?.gaps.length === 0 && statement.whole.content === statement.line.content
    const place = editor.view(query.caller)
    const facts = { ...toQueryFacts(query), ...(hasOneConnection && { connection: '' }) }
    const { connection, error, parameters } = facts
    const marks = marksOf(query, repeated)
    const shape = shapes.get(index) ?? 0
    const isUnfolded = unfolded === String(index)
    const names = () => parameters.map(({ name }) => name)
    const words = () => [text, place.place, place.call, connection, error, code, ...names()].join(' ')
    const transactionStart = transactions.get(index)
    return {
      ...facts,
      id: `query-${index}`,
      index,
      lead: facts.number,
      tone: error === '' ? '' : 'error',
      ...viewLine(statement, query, first !== query),
      // The first query of a statement has the whole of it, if its line has not; others lead there.
      whole: first === query && !isInLine && statement?.whole,
      firstLink: first === query ? '' : `#query-${first.index}`,
      firstNumber: first.number,
      where: editor.nameCaller(query.caller),
      site: place,
      codeLink:
        place.place === '' ? '' : `${link}${isUnfolded ? '' : `&code=${index}&find=query-${index}`}#query-${index}`,
      isUnfolded,
      chain:
        isUnfolded &&
        listCalls(query.caller).map(call => ({
          ...editor.viewWhole(nameFrame(call), call),
          call: '',
          lines: findLines(call),
        })),
      facts: [
        { text: marks.includes('miss') ? 'miss' : describeRows([query]), isMinor: true },
        { text: facts.time, tone: slownessOf(query) },
      ],
      // A single one is what the page is about.
      isOpen: isUnfolded || queries.length === 1,
      isUnended: end === undefined,
      late: start < since ? '' : hasClientLeft(profile) ? 'after the client had left' : 'after the response',
      twinIndex: twin,
      transactionStart: toTransactionLine(transactionStart),
      bars: [{ kind: query.kind, ...toBar(periodOf(query), whole) }],
      marks,
      show: marks.join(' '),
      shape,
      isHidden: !isQueryShown(filter, { marks, shape, words }),
    }
  })
}

/** The calls that led to a query, the outermost first. */
function listCalls({ callers = [], via = [], ...place }: CallerPlace): readonly Caller[] {
  return [...callers.toReversed(), place, ...via]
}

function toTransactionLine(transaction: TransactionView | undefined): PanelModel | false {
  return transaction === undefined
    ? false
    : { ...transaction, queries: formatCount(transaction.count, 'query', 'queries') }
}

/** The time that the bars are drawn in: that of the request, and of the queries after it. */
function wholeOf({ summary }: Profile, queries: readonly StoredQuery[]): Period {
  const end = queries.reduce((last, { end, start }) => Math.max(last, end ?? start), summary.duration)
  return { start: 0, duration: end }
}

/**
 * Groups queries by what they do, those with the longest total first: statements by their shape,
 * commands by their name.
 */
function toQuerySets(kind: StoredQuery['kind'], { queries, shapes }: QueryGroup): readonly QuerySet[] {
  if (kind === 'database') return shapes
  const sets = toSets(queries, ({ operation }) => operation).map(set => ({ ...set, text: operationOf(set.text) }))
  return sets.sort((a, b) => b.total - a.total)
}

/** The longest duration of some queries, in milliseconds. */
export function slowestOf(queries: readonly StoredQuery[]): number {
  return queries.reduce((longest, query) => Math.max(longest, workTime(query)), 0)
}

/** The rows that some queries have returned, or the values of a cache; empty when no query reported them. */
export function describeRows(queries: readonly StoredQuery[]): string {
  const rows = rowsOf(queries)
  return rows === undefined ? '' : formatCount(rows, queries[0]?.kind === 'cache' ? 'value' : 'row')
}

/** The rows of some queries; `undefined` when no query reported them. */
function rowsOf(queries: readonly StoredQuery[]): number | undefined {
  const known = queries.flatMap(({ rows }) => (rows === undefined ? [] : [rows]))
  return known.length === 0 ? undefined : known.reduce((sum, rows) => sum + rows, 0)
}

/** The key of a command; empty for a command without a key. */
function cacheKeyOf({ text }: Pick<StoredQuery, 'text'>): string {
  return /^\S+\s+(\S+)/.exec(text)?.[1] ?? ''
}

/** A transaction as its first row shows it. */
interface TransactionView {
  readonly number: number
  readonly outcome: 'committed' | 'rolled back' | 'failed' | 'not ended'
  readonly tone: 'ok' | 'plain' | 'warning' | 'error'
  readonly count: number
  /** From its first query to the end of its last query. */
  readonly time: string
}

/** The transactions by the index of their first query. */
function findTransactions(queries: readonly StoredQuery[]): ReadonlyMap<number, TransactionView> {
  const groups = groupBy(queries, ({ transaction }) => transaction)
  return new Map(
    Array.from(groups).flatMap(([number, group]) =>
      number === undefined ? [] : [[group[0].index, toTransaction(number, group)] as const],
    ),
  )
}

const tones = { committed: 'ok', 'rolled back': 'warning', failed: 'error', 'not ended': 'plain' } as const

function toTransaction(number: number, queries: readonly StoredQuery[]): TransactionView {
  const start = Math.min(...queries.map(({ start }) => start))
  const end = Math.max(...queries.map(({ end, start }) => end ?? start))
  const outcome = outcomeOf(queries)
  return {
    number,
    outcome,
    tone: tones[outcome],
    count: queries.length,
    time: formatDuration(Math.max(0, end - start)),
  }
}

function outcomeOf(queries: readonly StoredQuery[]): TransactionView['outcome'] {
  const last = queries.findLast(endsTransaction)
  if (last === undefined) return 'not ended'
  if (last.error !== '') return 'failed'
  return /^(?:COMMIT|END)/.test(last.operation) ? 'committed' : 'rolled back'
}

/** What queries can be chosen by, with the label of the choice. */
const marks = {
  duplicate: 'Duplicates',
  slow: 'Slow',
  failed: 'Errors',
  read: 'Reads',
  write: 'Writes',
  hit: 'Hits',
  miss: 'Misses',
} as const

/** One of the things that queries can be chosen by. It is also a word of the page: `?show=slow`. */
type Mark = keyof typeof marks

/** How slow a query is. */
function slownessOf(query: StoredQuery): 'plain' | 'warning' | 'error' {
  const duration = workTime(query)
  return duration >= slowQuery.error ? 'error' : duration >= slowQuery.warning ? 'warning' : 'plain'
}

function marksOf(query: StoredQuery, duplicates: ReadonlySet<number>): Mark[] {
  const { error, index, isRead, kind, operation, rows } = query
  const isDatabase = kind === 'database'
  const isLookup = !isDatabase && isRead && rows !== undefined
  const found: Readonly<Record<Mark, boolean>> = {
    duplicate: duplicates.has(index),
    slow: workTime(query) >= slowQuery.warning,
    failed: error !== '',
    read: isDatabase && isRead,
    write: isDatabase && !isRead && !controlOperations.has(operation),
    hit: isLookup && rows > 0,
    miss: isLookup && rows === 0,
  }
  return markNames.filter(mark => found[mark])
}

// The names of an object literal, which Object.keys cannot express.
const markNames = Object.keys(marks) as Mark[]

/** Which queries of the list are shown. */
interface QueryFilter {
  readonly mark: Mark | undefined
  /** The index of the first query of a shape; empty for all. */
  readonly shape: string
  /** Words that a query must contain. */
  readonly text: string
}

/** The parts of a query that the filter looks at. */
interface FilteredQuery {
  readonly marks: readonly Mark[]
  readonly shape: number
  /** The words of a query, which only a filter by words needs. */
  readonly words: () => string
}

/** Reads the filter of an address: `?show=duplicate&shape=3&text=price`. Invalid parameters are ignored. */
function readQueryFilter(query: URLSearchParams, shapes: readonly { readonly id: number }[]): QueryFilter {
  return {
    mark: markNames.find(mark => mark === query.get('show')),
    shape: shapes.map(({ id }) => String(id)).find(id => id === query.get('shape')) ?? '',
    text: query.get('text') ?? '',
  }
}

/** Whether a query is shown. The client script filters by the same rules, without a request. */
function isQueryShown({ mark, shape, text }: QueryFilter, { marks, shape: own, words }: FilteredQuery): boolean {
  if (mark !== undefined && !marks.includes(mark)) return false
  if (shape !== '' && shape !== String(own)) return false
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (wanted.length === 0) return true
  const found = words().toLowerCase()
  return wanted.every(word => found.includes(word))
}

/**
 * The choices of the filter, with the number of queries of each; those without queries are left
 * out. Empty if each has all queries.
 */
function toChoices(queries: readonly Pick<FilteredQuery, 'marks'>[], filter: QueryFilter): PanelModel[] {
  const counted = markNames.map(mark => ({
    value: mark,
    label: marks[mark],
    count: queries.filter(query => query.marks.includes(mark)).length,
    isSelected: mark === filter.mark,
  }))
  const all = { value: '', label: 'All', count: queries.length, isSelected: filter.mark === undefined }
  const choices = counted.filter(({ count, isSelected }) => count > 0 || isSelected)
  return choices.some(({ count }) => count < queries.length) ? [all, ...choices] : []
}
