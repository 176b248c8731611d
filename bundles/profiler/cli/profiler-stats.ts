import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { type Cell, type Column, withoutEmpty } from '../../../lib/console/table.ts'
import {
  gatherStatistics,
  measureStatistics,
  type RouteStatistics,
  statisticFields,
} from '../insight/route-statistics.ts'
import { searchMains } from '../insight/search-list.ts'
import { formatDuration, formatNumber, formatShare } from '../profile/format.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { filterOptions, parseSearch } from './search-options.ts'

/** Creates the command that shows the statistics of each route. */
export function createProfilerStats(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:stats',
    description: 'Shows the number of requests, the durations, the database queries and the errors of each route',
    options: [
      ...filterOptions,
      {
        name: 'sort',
        value: 'field',
        choices: statisticFields,
        description: 'the field to sort by, the greatest first; by default count',
      },
    ],
    examples: [
      { line: 'profiler:stats', purpose: 'shows all routes' },
      {
        line: 'profiler:stats --from 2026-11-20 --sort p95',
        purpose: 'shows the requests since a day, the slowest routes first',
      },
    ],
    async run(input, output) {
      const { sort: _, ...options } = input.options
      const wanted = parseSearch({ options })
      await storage.load()
      const { found: main } = await searchMains(storage, wanted)
      const field = statisticFields.find(field => field === input.options.sort) ?? 'count'
      const statistics = gatherStatistics(main).sort(
        (one, other) => measureStatistics(other, field) - measureStatistics(one, field),
      )
      const table = withoutEmpty({ columns, rows: statistics.map(toRow) }, 'Queries')
      output.print({
        blocks: main.length === 0 ? [{ kind: 'text', text: 'No results found' }] : [{ kind: 'table', table }],
        json: { requests: main.length, routes: statistics },
      })
      return exitCodes.success
    },
  }
}

const columns: readonly Column[] = [
  { title: 'Route' },
  { title: 'Requests', align: 'right', cut: 'never' },
  { title: 'p50', align: 'right', cut: 'never' },
  { title: 'p95', align: 'right', cut: 'never' },
  { title: 'p99', align: 'right', cut: 'never', isOptional: true },
  { title: 'Queries', align: 'right', cut: 'never', isOptional: true },
  { title: 'Errors', align: 'right', cut: 'never' },
  { title: 'Slowest', align: 'right', cut: 'never', isOptional: true },
  { title: 'Token', cut: 'never' },
]

function toRow({
  count,
  errorRate,
  errors,
  mostQueries,
  p50,
  p95,
  p99,
  queries,
  route,
  worst,
}: RouteStatistics): Cell[] {
  return [
    route ?? { text: '(no route)', tone: 'muted' },
    formatNumber(count),
    ...[p50, p95, p99].map(formatDuration),
    mostQueries === 0 ? '' : `${formatNumber(queries)} to ${formatNumber(mostQueries)}`,
    { text: formatShare(errorRate, 1), tone: errors > 0 ? 'error' : 'muted' },
    formatDuration(worst.duration),
    { text: worst.token, tone: 'strong' },
  ]
}
