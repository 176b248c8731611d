import { formatBytes, formatDuration, formatShare, type Row } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Period } from '../../profile/work.ts'
import type { MemoryData } from './data.ts'

/** Lists the CPU time, the waiting and the memory of the process during a request: those that are known. */
export function listUsage(profile: Profile): Row[] {
  const { loop, peak, ...memory } = profile.collectors.memory ?? {}
  const usage: readonly [name: string, value: string | undefined][] = [
    ['On CPU', describeCpuTime(profile)],
    ['Waiting', loop && toShareOfWall(loop.idle, memory)],
    ['Heap at the end', formatBytes(profile.summary.memory)],
    ['Peak memory usage of the process', peak === undefined ? undefined : formatBytes(peak)],
  ]
  return usage.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

/** The CPU time of the process during a request; `undefined` if it is not known. */
export function describeCpuTime({ collectors: { memory } }: Profile): string | undefined {
  return memory && toShareOfWall(memory.cpu.user + memory.cpu.system, memory)
}

function toShareOfWall(time: number, { wall = 0 }: Partial<MemoryData>): string {
  return `${formatDuration(time)} (${formatShare(time, wall)} of ${formatDuration(wall)})`
}

/** The runs of the garbage collector, in microseconds since the request began. */
export function readPauses({ collectors: { memory } }: Profile): (Period & { readonly kind: string })[] {
  const runs = memory?.pauses.first ?? []
  return runs.map(({ duration, kind = 'gc', start }) => {
    return { kind, start: Math.max(0, start * 1000), duration: duration * 1000 }
  })
}
