import { isCache } from '../../../../lib/sql/tokens.ts'
import { formatPlace, roundTime } from '../../profile/format.ts'
import { joinPeriods, type Period } from '../../profile/work.ts'
import { type Trace, withDescendants } from '../../record/trace.ts'
import type { RepeatedBelow } from './data.ts'
import type { PackedQueries } from './pack.ts'
import { isReading, operationOf } from './read.ts'

/** Fewer sub-requests are no list: the limit of a loop in development. */
const leastRequests = 10

const statementLimit = 10

/**
 * Finds the reading queries of one place that many sub-requests have made: the profile of each of them has only one.
 */
export function findRepeatedBelow(trace: Trace): readonly RepeatedBelow[] {
  const requests = withDescendants(trace).filter(request => request !== trace)
  if (requests.length < leastRequests) return []
  const groups = new Map<
    string,
    { below: RepeatedBelow; periods: Period[]; requests: Set<Trace>; values: Set<string> }
  >()
  for (const request of requests) {
    // The data of the collector with this name.
    const packed = request.collected?.data.queries as PackedQueries | undefined
    for (const { end, error, parameters, start, statement: index } of packed?.queries ?? []) {
      const statement = packed?.statements[index]
      if (statement === undefined || end === undefined || error !== undefined) continue
      const { caller, system, text } = statement
      if (isCache(system) || !isReading(operationOf(text), text)) continue
      const key = `${text} ${formatPlace(caller ?? {})}`
      const group = groups.get(key) ?? {
        below: { system, text, caller, count: 0, periods: [], requests: 0, isSame: true },
        periods: [],
        requests: new Set(),
        values: new Set(),
      }
      groups.set(key, group)
      group.requests.add(request)
      group.values.add(JSON.stringify(parameters ?? []))
      group.periods.push({ start: start + request.start - trace.start, duration: end - start })
      group.below = {
        ...group.below,
        count: group.below.count + 1,
        requests: group.requests.size,
        isSame: group.values.size === 1,
      }
    }
  }
  return [...groups.values()]
    .filter(({ requests }) => requests.size >= leastRequests)
    .slice(0, statementLimit)
    .map(({ below, periods }) => ({
      ...below,
      periods: joinPeriods(periods).map(({ duration, start }) => [roundTime(start), roundTime(duration)]),
    }))
}
