import type { ProfileCollector } from '../recording/profile-collector.ts'
import { roundTime } from '../recording/round-time.ts'

/** Tells what the process has used while a main request went on, until its response was sent. */
export const memoryCollector: ProfileCollector = {
  name: 'memory',
  collect(pass) {
    const { usage } = pass
    if (usage === undefined) return undefined
    const { heap, heapLimit, peak, system, user } = usage.readProcess()
    const { active, idle } = performance.eventLoopUtilization(usage.loop)
    usage.end = performance.now()
    return {
      wall: roundTime(usage.end - pass.start),
      cpu: { user: (user - usage.process.user) / 1000, system: (system - usage.process.system) / 1000 },
      loop: { active: roundTime(active), idle: roundTime(idle) },
      heap: { before: usage.process.heap, after: heap, limit: heapLimit },
      peak,
      requests: { others: usage.others, most: usage.most },
      pauses: usage.pauses,
      blocks: usage.blocks,
    }
  },
}
