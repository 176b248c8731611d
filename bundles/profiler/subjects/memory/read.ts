import { formatBytes, formatDuration, formatShare, type Row } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Period } from '../../profile/work.ts'

/** Lists the CPU time, the idle time and the memory of the process during a request: those that are known. */
export function listUsage(profile: Profile): Row[] {
  const { cpu, loop, peak, wall = 0 } = profile.collectors.memory ?? {}
  const toShare = (time: number) => `${formatDuration(time)} (${formatShare(time, wall)})`
  const usage: readonly [name: string, value: string | undefined][] = [
    ['On CPU', cpu && toShare(cpu.user + cpu.system)],
    ['Event loop idle', loop && toShare(loop.idle)],
    ['Heap at the end', formatBytes(profile.summary.memory)],
    ['Peak memory usage of the process', peak === undefined ? undefined : formatBytes(peak)],
  ]
  return usage.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

/** The runs of the garbage collector, in microseconds since the request began. */
export function readPauses({ collectors: { memory } }: Profile): (Period & { readonly kind: string })[] {
  const runs = memory?.pauses.first ?? []
  return runs.map(({ duration, kind = 'gc', start }) => {
    return { kind, start: Math.max(0, start * 1000), duration: duration * 1000 }
  })
}
