import { getHeapStatistics } from 'node:v8'

/** What the whole process has used so far. */
export interface ProcessUsage {
  /** Bytes of the heap in use, and those it may grow to. */
  readonly heap: number
  readonly heapLimit: number
  /** Microseconds of CPU time. */
  readonly user: number
  readonly system: number
}

/** Milliseconds: requests that begin or end together share one reading, which costs system calls. */
const lifetime = 0.5

let last: ProcessUsage | undefined
let readAt = 0

/** What the process has used, at most half a millisecond ago. */
export function readProcessUsage(): ProcessUsage {
  const now = performance.now()
  if (last === undefined || now - readAt > lifetime) {
    const { heap_size_limit: heapLimit, used_heap_size: heap } = getHeapStatistics()
    last = { ...process.cpuUsage(), heap, heapLimit }
    readAt = now
  }
  return last
}
