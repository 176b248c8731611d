import { groupBy } from '../profile/group-by.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { percentile } from './durations.ts'
import type { ListMark } from './list-request.ts'
import { isError } from './route-statistics.ts'

/** What the marks of a request depend on, beside its summary. */
export interface MarkContext {
  /** Whether a main request is slow. */
  readonly isSlow: (summary: ProfileSummary) => boolean
  /** The tokens of the requests with findings, as far as these are known. */
  readonly findings: ReadonlySet<string>
  /** The client that looks at the list, as in a summary; `undefined` in a console. */
  readonly client: string | undefined
}

/** Whether a request has a mark. A sub-request has the marks of its status and of its findings only. */
export function hasMark(mark: ListMark, summary: ProfileSummary, { client, findings, isSlow }: MarkContext): boolean {
  const { exception, status } = summary
  const isRefused = status >= 400 && status < 500
  if (mark === 'errors') return isError(summary) || (exception !== null && !isRefused)
  if (mark === '4xx') return isRefused
  if (mark === 'findings') return findings.has(summary.token)
  if (summary.parent !== null) return false
  if (mark === 'main') return true
  if (mark === 'slow') return isSlow(summary)
  if (mark === 'api') return isCall(summary)
  return summary.client !== null && summary.client === client
}

const programTypes = /^(?:application|text)\/(?:[\w.-]+\+)?(?:json|xml|x-ndjson|event-stream)\b/

/** Whether a script or a program made the request. Browsers report it on HTTPS and on localhost, others do not. */
function isCall({ contentType, destination }: ProfileSummary): boolean {
  return destination === null ? programTypes.test(contentType ?? '') : destination === 'empty'
}

/** Milliseconds from which each request is slow. */
export const slowDuration = 500

/** Milliseconds from which a request is slow if it takes three times as long as usual. */
const leastDuration = 50
const slowFactor = 3

/** A median of fewer requests is not usual. */
const leastCount = 5

/**
 * Creates the function that recognises slow main requests: they took half a second, or at least 50 ms and three times the
 * median of their route. A stream of events is open for as long as its client likes.
 */
export function recognizeSlow(mains: readonly ProfileSummary[]): MarkContext['isSlow'] {
  const bounds = new Map<string | null, number>()
  for (const [route, group] of groupBy(mains, ({ route }) => route)) {
    const sorted = Float64Array.from(group, ({ duration }) => duration).sort()
    const median = group.length < leastCount ? slowDuration : percentile(sorted, 50)
    bounds.set(route, Math.min(slowDuration, Math.max(leastDuration, slowFactor * median)))
  }
  return ({ contentType, duration, route }) =>
    duration >= (bounds.get(route) ?? slowDuration) && contentType?.startsWith('text/event-stream') !== true
}
