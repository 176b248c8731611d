import { getHeapStatistics } from 'node:v8'

/** What the whole process has used so far. */
export interface ProcessUsage {
  /** Bytes of the heap in use, and those it may grow to. */
  readonly heap: number
  readonly heapLimit: number
  /** The most bytes of memory that the process has ever held (resident set size). */
  readonly peak: number
  /** Microseconds of CPU time. */
  readonly user: number
  readonly system: number
  /** By `performance.now()`. */
  readonly readAt: number
}

/** Milliseconds that a reading is good for while several requests are in flight: then it says little of one of them. */
export const sharedLifetime = 10

/** Milliseconds after which the rate is looked at. */
const rateInterval = 100

/** Readings that are wanted in a millisecond: of two for each request, no client wants so many that is not a test of load. */
const loadRate = 0.5

let last: ProcessUsage | undefined
let wanted = 0
let countedSince = 0
let isUnderLoad = false

/**
 * What the process has used, by now or up to so many milliseconds ago; under load up to ten. To ask the system for each of
 * many requests would cost more than most of what is recorded, up to 40 µs.
 */
export function readProcessUsage(lifetime: number): ProcessUsage {
  const now = performance.now()
  countWanted(now)
  if (last === undefined || now - last.readAt > (isUnderLoad ? sharedLifetime : lifetime)) {
    const { heap_size_limit: heapLimit, used_heap_size: heap } = getHeapStatistics()
    const { maxRSS, systemCPUTime, userCPUTime } = process.resourceUsage()
    last = { user: userCPUTime, system: systemCPUTime, peak: maxRSS * 1024, heap, heapLimit, readAt: now }
  }
  return last
}

function countWanted(now: number): void {
  wanted++
  const counted = now - countedSince
  if (counted < rateInterval) return
  isUnderLoad = wanted / counted > loadRate
  wanted = 0
  countedSince = now
}
