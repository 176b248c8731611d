import { formatCaller } from '../profile/caller-places.ts'
import { formatCount, formatDuration } from '../profile/format.ts'
import { type QueryGroup, type QuerySet, queryDuration, readQueries, type StoredQuery } from '../profile/queries.ts'
import { type Section, toList, toSpan, toValueSpan, writeCaller } from './markdown-text.ts'

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
  const slowest = Math.max(...queries.map(queryDuration))
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
    `${index + 1}. +${formatDuration(start)} ${toSpan(oneLine(text))}: ${end === undefined ? 'not finished' : formatDuration(queryDuration(query))}`,
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
