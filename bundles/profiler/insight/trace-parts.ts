import type { Profile } from '../profile/profile.ts'
import type { ReceivedSpan } from '../profile/span-data.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** The known parts of a distributed trace, apart from the profile that shows them. */
export interface TraceParts {
  /** The spans that services have sent. */
  readonly spans: readonly ReceivedSpan[]
  /** The other main requests of the application in the trace. */
  readonly profiles: readonly Profile[]
}

/** The most requests in the time of a trace that are read. */
const profileLimit = 30

/** Milliseconds before the start and after the end of a request in which other requests of its trace may begin. */
const margin = 2000

/** Finds the other parts of the trace of a profile: nothing if it belongs to none. */
export async function findTrace(
  storage: Pick<ProfileStorage, 'find' | 'search' | 'spans'>,
  { collectors, summary }: Profile,
): Promise<TraceParts> {
  const { spanId, traceId } = collectors.request ?? {}
  if (traceId === undefined) return { spans: [], profiles: [] }
  const spans = await storage.spans.find(traceId)
  const moments = spans.flatMap(({ end, start }) => [start / 1000, end / 1000])
  const from = moments.reduce((first, moment) => Math.min(first, moment), summary.time)
  const until = moments.reduce((last, moment) => Math.max(last, moment), summary.time + summary.duration)
  const { summaries } = await storage.search({
    filters: [
      { field: 'time', test: 'from', value: from - margin },
      { field: 'time', test: 'until', value: until + margin },
    ],
    limit: profileLimit,
  })
  const others = summaries.filter(({ parent, token }) => parent === null && token !== summary.token)
  const found = await Promise.all(others.map(({ token }) => storage.find(token)))
  const profiles = found.flatMap(stored => stored?.profile ?? [])
  const isPart = ({ collectors: { request } }: Profile) => request?.traceId === traceId && request.spanId !== spanId
  return { spans, profiles: profiles.filter(isPart) }
}
