import { formatBytes } from '../../format/format-bytes.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { formatMicroseconds } from '../../format/format-microseconds.ts'
import { asList, asNumber, asObject, asObjects } from '../../reading/read-soft.ts'
import type { Section } from './section.ts'
import { toList, toValueSpan } from './text.ts'

/** What the application has measured with its stopwatch. */
export const timeSection: Section = {
  panel: 'time',
  write({ profile }, limit) {
    const measured = asObjects(asObject(profile.data.time).measured)
    if (measured.length === 0) return []
    const list = toList(measured, limit, ({ category, duration, name, periods }) => {
      const times = asList(periods).length
      const often = times > 1 ? `, ${times} times` : ''
      return `${toValueSpan(name)} (${toValueSpan(category)}) ${formatMicroseconds(asNumber(duration))}${often}`
    })
    return ['## Stopwatch', list]
  },
}

/** What the process has used meanwhile. */
export const memorySection: Section = {
  panel: 'memory',
  write({ profile }) {
    const data = asObject(profile.data.memory)
    if (Object.keys(data).length === 0) return []
    const [cpu, heap, loop, pauses, requests] = [data.cpu, data.heap, data.loop, data.pauses, data.requests].map(
      asObject,
    )
    const lines = [
      `- Until the response was sent: ${formatDuration(asNumber(data.wall))}`,
      `- CPU of the process: ${formatDuration(asNumber(cpu?.user))} user, ${formatDuration(asNumber(cpu?.system))} system`,
      `- Event loop: ${formatDuration(asNumber(loop?.active))} active, ${formatDuration(asNumber(loop?.idle))} idle`,
      `- Heap: ${formatBytes(asNumber(heap?.before))} before, ${formatBytes(asNumber(heap?.after))} after`,
      `- Garbage collection: ${asNumber(pauses?.count)} runs, ${formatDuration(asNumber(pauses?.total))}`,
      `- Other requests at the same time: at most ${asNumber(requests?.most)}`,
    ]
    return ['## Process', lines.join('\n')]
  },
}
