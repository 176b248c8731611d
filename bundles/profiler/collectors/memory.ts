import { getHeapStatistics } from 'node:v8'
import type { GcWatch } from '../gc-watch.ts'
import type { ProfileCollector } from '../profile-collector.ts'
import { roundTime } from '../round-time.ts'

/** Tells what the process has used while a main request went on, until its response was sent. */
export function createMemoryCollector(gc: GcWatch): ProfileCollector {
  return {
    name: 'memory',
    collect(pass) {
      const { usage } = pass
      if (usage === undefined) return undefined
      const wall = pass.elapsed()
      const { user, system } = process.cpuUsage(usage.cpu)
      const { active, idle } = performance.eventLoopUtilization(usage.loop)
      const heap = getHeapStatistics()
      gc.end(pass)
      return {
        wall: roundTime(wall),
        cpu: { user: user / 1000, system: system / 1000 },
        loop: { active: roundTime(active), idle: roundTime(idle) },
        heap: { before: usage.heap, after: heap.used_heap_size, limit: heap.heap_size_limit },
        requests: { others: usage.others, most: usage.most },
        pauses: usage.pauses,
      }
    },
  }
}
