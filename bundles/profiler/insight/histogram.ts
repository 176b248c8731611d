import { groupBy } from '../profile/group-by.ts'

/** The requests of a time span. */
export interface Bucket {
  /** Milliseconds since 1970: a whole second. */
  readonly start: number
  /** The start of the next bucket. */
  readonly end: number
  readonly count: number
  /** How many of them failed. */
  readonly errors: number
}

/** A request in a histogram. */
interface Entry {
  readonly time: number
  readonly isError: boolean
}

/** The greatest number of buckets. */
const bucketLimit = 48

/** The last time of a `Date`. A damaged profile may have any. */
const lastTime = 8.64e15

/** Fewer requests are no histogram. */
const leastCount = 10

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The lengths of buckets, in milliseconds. Greater ones are whole days. */
const steps = [
  ...[1, 2, 5, 10, 15, 30].map(count => count * second),
  ...[1, 2, 5, 10, 15, 30].map(count => count * minute),
  ...[1, 2, 3, 6, 12, 24].map(count => count * hour),
]

/** Counts requests in buckets of equal length, the oldest first. None for a few requests, or if all are in one bucket. */
export function createHistogram(entries: readonly Entry[]): Bucket[] {
  if (entries.length < leastCount) return []
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { time } of entries) {
    first = Math.min(first, time)
    last = Math.max(last, time)
  }
  const countFor = (step: number) => Math.floor(last / step) - Math.floor(first / step) + 1
  const step =
    steps.find(step => countFor(step) <= bucketLimit) ?? Math.ceil((last - first) / (bucketLimit - 1) / day) * day
  const count = countFor(step)
  if (count === 1) return []
  const groups = groupBy(entries, ({ time }) => Math.floor(time / step))
  const origin = Math.floor(first / step)
  return Array.from({ length: count }, (_, index) => {
    const group = groups.get(origin + index) ?? []
    const errors = group.filter(({ isError }) => isError).length
    const start = (origin + index) * step
    return { start, end: Math.min(start + step, lastTime), count: group.length, errors }
  })
}
