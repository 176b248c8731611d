import { toBar } from '../../panels/parts.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { item, row } from '../../panels/toolbar-items.ts'
import { formatBytes, formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { MemoryData } from './data.ts'

/** What the process used during a request, and how much of that time it only waited. */
export const memoryView: SubjectView = {
  name: 'memory',
  label: 'Memory & Event Loop',
  template: 'profiler/panels/memory',

  hasContent: ({ profile }) => profile.collectors.memory !== undefined,

  toView({ profile }) {
    const { memory } = profile.collectors
    if (memory === undefined) return { isMissing: true, parent: profile.summary.parent ?? '' }
    return { isMissing: false, ...describe(memory), ...draw(memory), ...viewPauses(memory) }
  },

  toMarkdown({ profile }) {
    const { memory } = profile.collectors
    if (memory === undefined) return []
    const { before, busy, heap, idle, most, pauseCount, pauseTime, system, user, wall } = describe(memory)
    const lines = [
      `- Until the response was sent: ${wall}`,
      `- CPU of the process: ${user} user, ${system} system`,
      `- Event loop: ${busy} active, ${idle} idle`,
      `- Heap: ${before} before, ${heap} after`,
      `- Garbage collection: ${formatCount(pauseCount, 'run')}, ${pauseTime}`,
      `- Concurrent requests: at most ${most}`,
    ]
    return ['## Process', lines.join('\n')]
  },

  toItems({ profile, summary }) {
    const { memory } = profile.collectors
    const known = memory && describe(memory)
    return [
      item(
        { name: 'memory', label: 'Memory' },
        {
          order: 150,
          text: summary.memory,
          link: profileLink(summary.token, 'memory'),
          isMinor: true,
          rows: [
            row('Heap of the process', summary.memory),
            ...(known === undefined ? [] : [row('Before', known.before), row('Limit', known.limit)]),
            ...(known === undefined || known.pauseCount === 0
              ? []
              : [row('Garbage collection', `${formatCount(known.pauseCount, 'run')}, ${known.pauseTime}`)]),
          ],
        },
      ),
    ]
  },
}

/** The facts that the panel, Markdown and the toolbar show. */
function describe({ cpu, heap, loop, pauses, requests, wall }: MemoryData) {
  return {
    wall: formatDuration(wall),
    cpu: formatDuration(cpu.user + cpu.system),
    user: formatDuration(cpu.user),
    system: formatDuration(cpu.system),
    busy: formatDuration(loop.active),
    idle: formatDuration(loop.idle),
    before: formatBytes(heap.before),
    heap: formatBytes(heap.after),
    limit: formatBytes(heap.limit),
    pauseCount: pauses.count,
    pauseTime: formatDuration(pauses.total),
    others: requests.others,
    most: requests.most,
  }
}

/** With more CPU time than this, other threads worked as well: those of the garbage collector, for example. */
const oneThread = 1.1

/** Milliseconds from which on other requests notice that they wait. */
const noticeable = 50

/** The bars of the panel, the shares that they show, and what these mean. */
function draw({ cpu, heap, loop, wall }: MemoryData) {
  const sum = cpu.user + cpu.system
  const growth = heap.after - heap.before
  const bar = (duration: number, whole: number) => toBar({ start: 0, duration }, { start: 0, duration: whole })
  return {
    cpuShare: formatShare(sum, wall),
    cpuBar: bar(sum, wall),
    hasThreads: sum > wall * oneThread,
    busyShare: formatShare(loop.active, wall),
    busyBar: bar(loop.active, wall),
    isBlocking: loop.active >= noticeable && loop.active > loop.idle,
    isWaiting: loop.idle > loop.active,
    grown: `${growth > 0 ? '+' : ''}${formatBytes(growth)}`,
    hasShrunk: growth < 0,
  }
}

function viewPauses({ pauses: { count, longest, total }, wall }: MemoryData) {
  const whole = { start: 0, duration: wall }
  const kinds = groupBy(longest, ({ kind }) => kind ?? 'other')
  return {
    pauseShare: formatShare(total, wall),
    pauses: longest.map(pause => ({
      label: `${pause.kind ?? 'other'}: ${formatDuration(pause.duration)} at ${formatDuration(pause.start)}`,
      bar: toBar(pause, whole),
    })),
    kinds: [...kinds].map(([kind, group]) => {
      const time = group.reduce((sum, { duration }) => sum + duration, 0)
      return `${group.length} ${kind} in ${formatDuration(time)}`
    }),
    morePauses: Math.max(0, count - longest.length),
  }
}
