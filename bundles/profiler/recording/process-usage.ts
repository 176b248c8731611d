import { getHeapStatistics } from 'node:v8'

/** What the whole process has used so far. */
export interface ProcessUsage {
  /** Bytes of the heap in use, and those it may grow to. */
  readonly heap: number
  readonly heapLimit: number
  /** Microseconds of CPU time. */
  readonly user: number
  readonly system: number
  /** By `performance.now()`. */
  readonly readAt: number
}

/** Milliseconds that a reading is good for while several requests are in flight: then it says little of one of them. */
export const sharedLifetime = 10

let last: ProcessUsage | undefined

/**
 * What the process has used, by now or up to so many milliseconds ago: to ask the system for each of many requests would
 * cost more than most of what is recorded, up to 12 µs.
 */
export function readProcessUsage(lifetime: number): ProcessUsage {
  const now = performance.now()
  if (last === undefined || now - last.readAt > lifetime) {
    const { heap_size_limit: heapLimit, used_heap_size: heap } = getHeapStatistics()
    last = { ...process.cpuUsage(), heap, heapLimit, readAt: now }
  }
  return last
}
