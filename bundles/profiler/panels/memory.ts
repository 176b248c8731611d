import type { Profile } from '../profile.ts'
import { formatBytes } from './format-bytes.ts'
import { formatDuration } from './format-duration.ts'
import { formatShare } from './format-share.ts'
import type { ProfilePanel } from './panel.ts'
import { asNumber, asObject, asObjects, asText } from './read-soft.ts'

/** Shows what the process has used while a request went on, and how much of that time it has only waited. */
export const memoryPanel: ProfilePanel = {
  name: 'memory',
  label: 'Memory & Event Loop',
  template: 'profiler/panels/memory',

  hasContent: ({ data }) => data.memory !== undefined,

  toView({ profile }) {
    const { data, summary } = profile
    return { isMissing: data.memory === undefined, isSubRequest: typeof summary.parent === 'string', ...read(profile) }
  },
}

function read({ data }: Profile) {
  const { wall, cpu, loop, heap, requests, pauses } = asObject(data.memory)
  const { user, system } = asObject(cpu)
  const { active, idle } = asObject(loop)
  const { before, after, limit } = asObject(heap)
  const { others, most } = asObject(requests)
  const { count, total, first } = asObject(pauses)
  const time = asNumber(wall)
  const cpuTime = asNumber(user) + asNumber(system)
  const grown = asNumber(after) - asNumber(before)
  const runs = asObjects(first)
  return {
    wall: formatDuration(time),
    cpu: formatDuration(cpuTime),
    cpuShare: formatShare(cpuTime, time),
    idle: formatDuration(asNumber(idle)),
    idleShare: formatShare(asNumber(idle), time),
    heap: formatBytes(asNumber(after)),
    grown: `${grown > 0 ? '+' : ''}${formatBytes(grown)}`,
    times: [
      { name: 'From its start until the response was sent', value: formatDuration(time) },
      { name: 'CPU time in the application', value: formatDuration(asNumber(user)) },
      { name: 'CPU time in the system', value: formatDuration(asNumber(system)) },
      {
        name: 'Event loop busy',
        value: `${formatDuration(asNumber(active))} (${formatShare(asNumber(active), time)})`,
      },
      { name: 'Event loop waiting', value: `${formatDuration(asNumber(idle))} (${formatShare(asNumber(idle), time)})` },
    ],
    memory: [
      { name: 'Heap before', value: formatBytes(asNumber(before)) },
      { name: 'Heap after', value: formatBytes(asNumber(after)) },
      { name: 'Limit of the heap', value: formatBytes(asNumber(limit)) },
    ],
    others: asNumber(others),
    most: asNumber(most),
    pauseCount: asNumber(count),
    pauseTime: formatDuration(asNumber(total)),
    pauses: runs.map(({ start, duration, kind }) => ({
      start: formatDuration(asNumber(start)),
      duration: formatDuration(asNumber(duration)),
      kind: asText(kind),
    })),
    morePauses: Math.max(0, asNumber(count) - runs.length),
  }
}
