import type { ViewModel } from '../../../../lib/view/view.ts'
import { readHandledTime } from '../../profile/event-outline.ts'
import { formatBytes, formatMicroseconds, formatShare } from '../../profile/format.ts'
import { recordLink } from '../../profile/links.ts'
import { joinPeriods, type Period, totalOf } from '../../profile/periods.ts'
import type { Profile } from '../../profile/profile.ts'
import { asNumber, asObject, asObjects, asText } from '../../profile/read-soft.ts'
import type { ProfilePanel } from './panel.ts'
import { readFilter, thresholds } from './timeline/scale.ts'
import { type Category, countDropped, createPassSpans } from './timeline/spans.ts'
import { createRows, createTimeline, type TimelineRow } from './timeline/timeline.ts'

/** Shows what took how long, and when: of a request, of its sub-requests, and of what it has left for afterwards. */
export const timePanel: ProfilePanel = {
  name: 'time',
  label: 'Performance',
  template: 'profiler/panels/time',
  hasContent: () => true,
  async toView({ findChildren, parent, profile, query }) {
    const { token } = asObject(profile.summary)
    const { logs, root } = await createPassSpans(profile, findChildren)
    const rows = createRows(root)
    const handled = findEnd(rows, readHandledTime(profile) * 1000)
    const filter = readFilter(query, handled)
    return {
      metrics: createMetrics(profile, rows),
      parent: parent === undefined ? null : { token: parent.token, duration: toDuration(parent.duration) },
      timeline: createTimeline({ rows, logs, pauses: readPauses(profile), handled, filter }),
      action: recordLink(asText(token)),
      allLink: `${recordLink(asText(token), 'time')}&rows=all`,
      hasAll: filter.hasAll,
      fitting: `${readFilter(new URLSearchParams(), handled).threshold / 1000}`,
      thresholds: thresholds.map(value => ({ value, isChosen: value === filter.chosen })),
      dropped: countDropped(profile),
    }
  },
}

/** The response is out when the kernel tells that it is; as long as it does not, when it was handled. */
function findEnd(rows: readonly TimelineRow[], handled: number): number {
  const terminate = rows.find(({ depth, name }) => depth === 1 && name === 'kernel.terminate')
  return Math.max(handled, terminate?.start ?? handled)
}

function createMetrics(profile: Profile, rows: readonly TimelineRow[]): ViewModel[] {
  const { duration, memory, subRequests } = asObject(profile.summary)
  const { peak } = asObject(asObject(profile.data).memory)
  const of = (category: Category) => rows.filter(row => row.category === category && row.depth > 0)
  const covered = (category: Category) => totalOf(joinPeriods(of(category).flatMap(({ covered }) => covered)))
  const metric = (name: string, value: string) => ({ name, value })
  const part = (name: string, category: Category) =>
    of(category).length === 0 ? [] : [metric(name, formatMicroseconds(covered(category)))]
  const counted = (name: string, category: Category) => {
    const { length } = of(category)
    return length === 0 ? [] : [metric(name, `${length} in ${formatMicroseconds(covered(category))}`)]
  }
  const hasSubRequests = of('request').length > 0
  const hasNested = of('request').length > asNumber(subRequests)
  return [
    metric('Total execution time', toDuration(duration)),
    metric('Response ready · last byte', `${toDuration(readHandledTime(profile))} · ${toDuration(duration)}`),
    ...part('Controller', 'controller'),
    ...part(hasSubRequests ? 'Templates, with those of sub-requests' : 'Templates', 'template'),
    ...counted('HTTP client calls', 'http'),
    ...counted(hasNested ? 'Sub-Requests, with nested ones' : 'Sub-Requests', 'request'),
    ...createUsageMetrics(profile),
    metric('Heap at the end', formatBytes(asNumber(memory))),
    ...(peak === undefined ? [] : [metric('Peak memory usage of the process', formatBytes(asNumber(peak)))]),
  ]
}

function createUsageMetrics({ data }: Profile): ViewModel[] {
  const { cpu, loop, wall } = asObject(asObject(data).memory)
  if (wall === undefined) return []
  const { system, user } = asObject(cpu)
  const toValue = (milliseconds: number) =>
    `${toDuration(milliseconds)} (${formatShare(milliseconds, asNumber(wall))} of ${toDuration(wall)})`
  return [
    { name: 'On CPU', value: toValue(asNumber(user) + asNumber(system)) },
    { name: 'Waiting', value: toValue(asNumber(asObject(loop).idle)) },
  ]
}

function readPauses({ data }: Profile): Period[] {
  const { pauses } = asObject(asObject(data).memory)
  return asObjects(asObject(pauses).first).map(({ duration, start }) => ({
    start: Math.max(0, asNumber(start) * 1000),
    duration: Math.max(0, asNumber(duration) * 1000),
  }))
}

function toDuration(milliseconds: unknown): string {
  return formatMicroseconds(asNumber(milliseconds) * 1000)
}
