import { formatBytes, formatDuration, formatShare } from '../../profile/format.ts'
import { asNumber, asObject, asObjects, asText } from '../../profile/read-soft.ts'
import { toSpan } from './bar.ts'
import type { ProfilePanel } from './panel.ts'

/** Shows what the process has used while a request went on, and how much of that time it has only waited. */
export const memoryPanel: ProfilePanel = {
  name: 'memory',
  label: 'Memory & Event Loop',
  template: 'profiler/panels/memory',

  hasContent: ({ data }) => data.memory !== undefined,

  toView({ profile }) {
    const { data, summary } = profile
    const { wall, cpu, loop, heap, requests, pauses } = asObject(data.memory)
    const time = asNumber(wall)
    return {
      isMissing: data.memory === undefined,
      parent: typeof summary.parent === 'string' ? summary.parent : '',
      wall: formatDuration(time),
      ...describeCpu(asObject(cpu), time),
      ...describeLoop(asObject(loop), time),
      ...describeHeap(asObject(heap)),
      ...describePauses(asObject(pauses), time),
      others: asNumber(asObject(requests).others),
      most: asNumber(asObject(requests).most),
    }
  },
}

type Stored = Readonly<Record<string, unknown>>

/** Another thread has worked as well, for the garbage collector say, when there is more than this of CPU time. */
const oneThread = 1.1

function describeCpu({ user, system }: Stored, wall: number) {
  const [own, foreign] = [asNumber(user), asNumber(system)]
  const sum = own + foreign
  const whole = { start: 0, duration: Math.max(wall, sum) }
  return {
    cpu: formatDuration(sum),
    cpuShare: formatShare(sum, wall),
    user: formatDuration(own),
    system: formatDuration(foreign),
    userBar: toSpan({ start: 0, duration: own }, whole),
    systemBar: toSpan({ start: 0, duration: foreign }, whole),
    hasThreads: sum > wall * oneThread,
  }
}

/** From so many milliseconds on others notice that they wait. */
const noticeable = 50

function describeLoop({ active, idle }: Stored, wall: number) {
  const [busy, waiting] = [asNumber(active), asNumber(idle)]
  return {
    busy: formatDuration(busy),
    busyShare: formatShare(busy, wall),
    idle: formatDuration(waiting),
    idleShare: formatShare(waiting, wall),
    busyBar: toSpan({ start: 0, duration: busy }, { start: 0, duration: wall }),
    isBlocking: busy >= noticeable && busy > waiting,
    isWaiting: waiting > busy,
  }
}

function describeHeap({ before, after, limit }: Stored) {
  const [first, last, most] = [asNumber(before), asNumber(after), asNumber(limit)]
  const grown = last - first
  const whole = { start: 0, duration: most }
  return {
    before: formatBytes(first),
    heap: formatBytes(last),
    grown: `${grown > 0 ? '+' : ''}${formatBytes(grown)}`,
    hasShrunk: grown < 0,
    limit: formatBytes(most),
    heapShare: formatShare(last, most),
    heapBar: toSpan({ start: 0, duration: last }, whole),
  }
}

function describePauses({ count, total, first }: Stored, wall: number) {
  const runs = asObjects(first)
  const whole = { start: 0, duration: wall }
  return {
    pauseCount: asNumber(count),
    pauseTime: formatDuration(asNumber(total)),
    pauses: runs.map(({ start, duration, kind }) => ({
      start: formatDuration(asNumber(start)),
      duration: formatDuration(asNumber(duration)),
      kind: asText(kind),
      bar: toSpan({ start: asNumber(start), duration: asNumber(duration) }, whole),
    })),
    morePauses: Math.max(0, asNumber(count) - runs.length),
  }
}
