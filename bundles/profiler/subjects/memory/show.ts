import type { Section } from '../../export/markdown-text.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { formatBytes, formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { ProfilePanel } from '../../web/panels/panel.ts'
import { toBar } from '../../web/panels/parts.ts'
import { item, row, type ToolbarItem } from '../../web/toolbar/toolbar-items.ts'
import type { MemoryData } from './data.ts'

/** Shows what the process used during a request, and how much of that time it only waited. */
export const memoryPanel: ProfilePanel = {
  name: 'memory',
  label: 'Memory & Event Loop',
  template: 'profiler/panels/memory',

  hasContent: ({ collectors }) => collectors.memory !== undefined,

  toView({ profile }) {
    const { memory } = profile.collectors
    if (memory === undefined) return { isMissing: true, parent: profile.summary.parent ?? '' }
    const { cpu, heap, loop, pauses, requests, wall } = memory
    return {
      isMissing: false,
      wall: formatDuration(wall),
      ...viewCpu(cpu, wall),
      ...viewLoop(loop, wall),
      ...viewHeap(heap),
      ...viewPauses(pauses, wall),
      others: requests.others,
      most: requests.most,
    }
  },
}

/** With more CPU time than this, other threads worked as well: those of the garbage collector, for example. */
const oneThread = 1.1

function viewCpu({ system, user }: MemoryData['cpu'], wall: number) {
  const sum = user + system
  const whole = { start: 0, duration: Math.max(wall, sum) }
  return {
    cpu: formatDuration(sum),
    cpuShare: formatShare(sum, wall),
    user: formatDuration(user),
    system: formatDuration(system),
    userBar: toBar({ start: 0, duration: user }, whole),
    systemBar: toBar({ start: 0, duration: system }, whole),
    hasThreads: sum > wall * oneThread,
  }
}

/** Milliseconds from which on other requests notice that they wait. */
const noticeable = 50

function viewLoop({ active, idle }: MemoryData['loop'], wall: number) {
  return {
    busy: formatDuration(active),
    busyShare: formatShare(active, wall),
    idle: formatDuration(idle),
    idleShare: formatShare(idle, wall),
    busyBar: toBar({ start: 0, duration: active }, { start: 0, duration: wall }),
    isBlocking: active >= noticeable && active > idle,
    isWaiting: idle > active,
  }
}

function viewHeap({ after, before, limit }: MemoryData['heap']) {
  const growth = after - before
  return {
    before: formatBytes(before),
    heap: formatBytes(after),
    grown: `${growth > 0 ? '+' : ''}${formatBytes(growth)}`,
    hasShrunk: growth < 0,
    limit: formatBytes(limit),
    heapShare: formatShare(after, limit),
    heapBar: toBar({ start: 0, duration: after }, { start: 0, duration: limit }),
  }
}

function viewPauses({ count, first, total }: MemoryData['pauses'], wall: number) {
  const whole = { start: 0, duration: wall }
  const kinds = groupBy(first, ({ kind }) => kind ?? 'other')
  return {
    pauseCount: count,
    pauseTime: formatDuration(total),
    pauseShare: formatShare(total, wall),
    pauses: first.map(pause => ({
      label: `${pause.kind ?? 'other'}: ${formatDuration(pause.duration)} at ${formatDuration(pause.start)}`,
      bar: toBar(pause, whole),
    })),
    kinds: [...kinds].map(([kind, group]) => {
      const time = group.reduce((sum, { duration }) => sum + duration, 0)
      return `${group.length} ${kind} in ${formatDuration(time)}`
    }),
    morePauses: Math.max(0, count - first.length),
  }
}

/** The CPU time of the process during a request; `undefined` if it is not known. */
export function describeCpuTime({ collectors: { memory } }: Profile): string | undefined {
  return memory && toShareOfWall(memory.cpu.user + memory.cpu.system, memory)
}

/** The CPU time, the waiting and the memory of the process during a request, as names and values. */
export function listUsage(profile: Profile): { readonly name: string; readonly value: string }[] {
  const { loop, peak, ...memory } = profile.collectors.memory ?? {}
  const usage: readonly [name: string, value: string | undefined][] = [
    ['On CPU', describeCpuTime(profile)],
    ['Waiting', loop && toShareOfWall(loop.idle, memory)],
    ['Heap at the end', formatBytes(profile.summary.memory)],
    ['Peak memory usage of the process', peak === undefined ? undefined : formatBytes(peak)],
  ]
  return usage.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

function toShareOfWall(time: number, { wall = 0 }: Partial<MemoryData>): string {
  return `${formatDuration(time)} (${formatShare(time, wall)} of ${formatDuration(wall)})`
}

/** The CPU time, memory and event loop of the process during the request. */
export const memorySection: Section = {
  panel: 'memory',
  write({ profile }) {
    const { memory } = profile.collectors
    if (memory === undefined) return []
    const { cpu, heap, loop, pauses, requests, wall } = memory
    const lines = [
      `- Until the response was sent: ${formatDuration(wall)}`,
      `- CPU of the process: ${formatDuration(cpu.user)} user, ${formatDuration(cpu.system)} system`,
      `- Event loop: ${formatDuration(loop.active)} active, ${formatDuration(loop.idle)} idle`,
      `- Heap: ${formatBytes(heap.before)} before, ${formatBytes(heap.after)} after`,
      `- Garbage collection: ${pauses.count} runs, ${formatDuration(pauses.total)}`,
      `- Concurrent requests: at most ${requests.most}`,
    ]
    return ['## Process', lines.join('\n')]
  },
}

/** Creates the item of the memory of the process. */
export function toMemoryItem({ profile }: ShownProfile, { memory, token }: SummaryView): ToolbarItem {
  const { heap, pauses } = profile.collectors.memory ?? {}
  return item('memory', 'Memory', {
    text: memory,
    link: profileLink(token, 'memory'),
    isMinor: true,
    rows: [
      row('Heap of the process', memory),
      ...(heap === undefined ? [] : [row('Before', formatBytes(heap.before)), row('Limit', formatBytes(heap.limit))]),
      ...(pauses === undefined || pauses.count === 0
        ? []
        : [row('Garbage collection', `${formatCount(pauses.count, 'run')}, ${formatDuration(pauses.total)}`)]),
    ],
  })
}
