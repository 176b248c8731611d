import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { readEdits, readProcessStart } from '../edits.ts'
import { leastCounts, percentile } from '../route-statistics.ts'

/** The durations of earlier, warm requests that are similar to the request of a profile, in milliseconds. */
export interface UsualTime extends Durations {
  /** The same on both sides of the start of the process; `undefined` if that is not known, or on a side without requests. */
  readonly before: Durations | undefined
  readonly since: Durations | undefined
  /** The same before the last edit of files; `undefined` without one. */
  readonly beforeEdit: Durations | undefined
  /** When the process has started, in milliseconds since 1970; `undefined` if that is not known. */
  readonly start: number | undefined
  /** The latest request before the start of the process. */
  readonly lastBefore: ProfileSummary | undefined
}

/** The durations of requests, in milliseconds. */
export interface Durations {
  readonly count: number
  /** 0 without requests. */
  readonly median: number
  readonly p95: number
}

/** Reads the usual time of a request from earlier requests, the newest first. Cold requests do not count. */
export function readUsualTime(profile: Profile, earlier: readonly ProfileSummary[]): UsualTime {
  const start = readProcessStart(profile)
  const edit = readEdits(profile).at(-1)
  const warm = earlier.filter(({ isCold }) => !isCold)
  const before = start === undefined ? [] : warm.filter(({ time }) => time < start)
  const since = start === undefined ? [] : warm.slice(0, warm.length - before.length)
  return {
    ...measure(warm),
    beforeEdit: edit && measure(warm.filter(({ time }) => time < edit.time)),
    before: before.length === 0 ? undefined : measure(before),
    since: since.length === 0 ? undefined : measure(since),
    start,
    lastBefore: start === undefined ? undefined : earlier.find(({ time }) => time < start),
  }
}

function measure(summaries: readonly ProfileSummary[]): Durations {
  if (summaries.length === 0) return { count: 0, median: 0, p95: 0 }
  const sorted = Float64Array.from(summaries, ({ duration }) => duration).sort()
  return { count: sorted.length, median: percentile(sorted, 50), p95: percentile(sorted, 95) }
}

/** How the time of a request compares with the usual time. */
export interface TimeRatio {
  /** The greater of both times divided by the smaller one. */
  readonly factor: number
  readonly isSlower: boolean
}

/** A smaller difference is usual. */
const leastFactor = 1.5

/** Milliseconds: below it, clocks and caches make the difference. */
const leastDifference = 5

/** Compares a duration with the median of earlier requests; `undefined` if there are too few, or no great difference. */
export function compareWithUsual(duration: number, { count, median }: Durations): TimeRatio | undefined {
  const [less, more] = duration < median ? [duration, median] : [median, duration]
  if (count < leastCounts.p50 || more - less < leastDifference || more < less * leastFactor) return undefined
  return { factor: more / less, isSlower: duration > median }
}
