import { toList, toSpan } from '../../../export/markdown-text.ts'
import { searchList } from '../../../insight/list-request.ts'
import { gatherStatistics, type RouteStatistics } from '../../../insight/route-statistics.ts'
import { formatCount, formatDuration } from '../../../profile/format.ts'
import { answer, answerParameters } from '../answer.ts'
import { choiceParameter, countParameter, withDefault } from '../parameter.ts'
import { filterParameters, readSearch } from '../search-parameters.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that tells how fast and how well each route answers. */
export function createRouteStatistics({ storage }: ToolServices): Tool {
  return defineTool({
    name: 'route_statistics',
    title: 'Statistics by route',
    description:
      'Tells of each route how often it was asked, how fast it was (percentiles), how often it failed, and the token of its slowest request. Only of requests that all filters fit; sub-requests do not count.',
    parameters: {
      ...filterParameters,
      sort: withDefault(
        choiceParameter('what to sort by, the most first', ['count', 'p50', 'p95', 'p99', 'errors']),
        'count',
      ),
      limit: withDefault(countParameter('how many routes', 100), 25),
      ...answerParameters,
    },
    annotations: readsRecords,
    async answer({ format, limit, max_length, sort, ...filters }) {
      const wanted = readSearch(filters)
      const query = { ...wanted.query, limit: Number.MAX_SAFE_INTEGER }
      const { summaries } = await searchList(storage, { ...wanted, query })
      const main = summaries.filter(({ parent }) => parent === null)
      const routes = gatherStatistics(main).sort((one, other) => other[sort] - one[sort])
      const title = `# ${formatCount(main.length, 'request')} of ${formatCount(routes.length, 'route')}`
      const forms = {
        json: () => ({ requests: main.length, total: routes.length, routes: routes.slice(0, limit) }),
        md: () => `${[title, toList(routes, limit, describe)].filter(part => part !== '').join('\n\n')}\n`,
      }
      return answer(forms, { format, max_length })
    },
  })
}

function describe({ count, errorRate, errors, p50, p95, p99, route, worst }: RouteStatistics): string {
  const facts = [
    `${route === null ? 'no route' : toSpan(route)}: ${formatCount(count, 'request')}`,
    `p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}, p99 ${formatDuration(p99)}`,
    ...(errors === 0 ? [] : [`${formatCount(errors, 'error')} (${(100 * errorRate).toFixed(1)} %)`]),
    `slowest ${formatDuration(worst.duration)} ${toSpan(worst.token)}`,
  ]
  return facts.join('; ')
}
