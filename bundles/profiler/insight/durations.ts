import type { ProfileSummary } from '../profile/profile.ts'

/** The durations of requests, in milliseconds. */
export interface Durations {
  readonly count: number
  /** 0 without requests. */
  readonly median: number
  readonly p95: number
}

/** Measures the durations of requests. */
export function measureDurations(summaries: readonly ProfileSummary[]): Durations {
  if (summaries.length === 0) return { count: 0, median: 0, p95: 0 }
  const sorted = sortDurations(summaries)
  return { count: sorted.length, median: percentile(sorted, 50), p95: percentile(sorted, 95) }
}

/** The durations of requests, the shortest first. */
export function sortDurations(summaries: readonly ProfileSummary[]): Float64Array {
  return Float64Array.from(summaries, ({ duration }) => duration).sort()
}

/** The median of values in any order; 0 without values. */
export function findMedian(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 50)
}

/**
 * Returns a percentile of sorted values by the nearest-rank method: the result is always one of
 * the values; 0 without values.
 */
export function percentile(sorted: Float64Array, percent: number): number {
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0
}

/** The least number of requests for a median. */
export const leastForMedian = 5

/** How the time of a request compares with the usual time. */
export interface TimeRatio {
  /** The greater of both times divided by the smaller one. */
  readonly factor: number
  readonly isSlower: boolean
}

/** The least ratio of two times that are not usual. */
const leastFactor = 1.5

/** The least difference in milliseconds: clocks and caches cause smaller ones. */
const leastUsual = 5

/**
 * Compares a duration with the median of earlier requests; `undefined` if there are too few, or no great difference.
 */
export function compareWithUsual(
  duration: number,
  { count, median }: Pick<Durations, 'count' | 'median'>,
): TimeRatio | undefined {
  const [less, more] = duration < median ? [duration, median] : [median, duration]
  if (count < leastForMedian || more - less < leastUsual || more < less * leastFactor) return undefined
  return { factor: more / less, isSlower: duration > median }
}

/**
 * The usual difference of durations, in milliseconds: between their 10th and their 90th
 * percentile; 0 if they are too few.
 */
export function measureSpread(summaries: readonly ProfileSummary[]): number {
  if (summaries.length < leastForMedian) return 0
  const sorted = sortDurations(summaries)
  return percentile(sorted, 90) - percentile(sorted, 10)
}

/** The durations of requests of one version of the code, in milliseconds. */
interface Spread {
  /** The number of warm requests. Without any, the other values are those of cold ones. */
  readonly count: number
  readonly median: number
  readonly least: number
  readonly most: number
}

/** The durations of two versions. */
export interface ComparedTimes {
  readonly before: Spread
  readonly now: Spread
  /** `unknown` if there are too few durations, `usual` if most durations of both are alike. */
  readonly change: 'faster' | 'slower' | 'usual' | 'unknown'
}

/** The most durations that are compared. */
const sampleLimit = 20

/** The least number of durations since an edit. */
export const leastNow = 4

/** The least change: as a part of the median, and in milliseconds. */
const leastShare = 0.05
const leastDifference = 2

/** A request of one version of the code. */
type TimedRequest = Pick<ProfileSummary, 'duration' | 'isCold'>

/** Compares the durations of the requests of two versions, each with the latest first. */
export function compareTimes(before: readonly TimedRequest[], now: readonly TimedRequest[]): ComparedTimes {
  const warmOf = (requests: readonly TimedRequest[]) => durationsOf(requests.filter(({ isCold }) => !isCold))
  const [old, current] = [warmOf(before), warmOf(now)]
  return { before: toSpread(old, before), now: toSpread(current, now), change: findChange(old, current) }
}

function durationsOf(requests: readonly TimedRequest[]): readonly number[] {
  return requests.slice(0, sampleLimit).map(({ duration }) => duration)
}

function toSpread(warm: readonly number[], requests: readonly TimedRequest[]): Spread {
  const sorted = Float64Array.from(warm.length > 0 ? warm : durationsOf(requests)).sort()
  return {
    count: warm.length,
    median: percentile(sorted, 50),
    least: sorted[0] ?? 0,
    most: percentile(sorted, 100),
  }
}

/**
 * Durations have changed if nine in ten of one version are longer than nine in ten of the other,
 * and the medians differ enough.
 */
function findChange(before: readonly number[], now: readonly number[]): ComparedTimes['change'] {
  if (before.length < leastForMedian || now.length < leastNow) return 'unknown'
  const [old, current] = [findMedian(before), findMedian(now)]
  const difference = Math.abs(current - old)
  if (difference < leastDifference || difference < old * leastShare) return 'usual'
  const [shorter, longer] = current < old ? [now, before] : [before, now]
  const [low, high] = [Float64Array.from(shorter).sort(), Float64Array.from(longer).sort()]
  const isApart = percentile(low, 90) < percentile(high, 10)
  if (!isApart) return 'usual'
  return current > old ? 'slower' : 'faster'
}
