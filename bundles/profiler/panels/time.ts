import type { ViewModel } from '../../../lib/view/view.ts'
import type { Profile, ProfileSummary } from '../profile.ts'
import { createEventRows } from './event-rows.ts'
import { readEventTree } from './event-tree.ts'
import { formatBytes } from './format-bytes.ts'
import { formatMicroseconds } from './format-microseconds.ts'
import type { ProfilePanel } from './panel.ts'
import { asNumber, asObject } from './read-soft.ts'
import { readStopwatchRows } from './stopwatch-rows.ts'
import { createTimeline, foldThreshold, splitRows, type TimelineRow } from './timeline.ts'

/** Makes rows of a timeline of what a profile tells. */
export type RowSource = (profile: Profile) => readonly TimelineRow[]

/** Creates the panel that shows what took how long; `sources` add rows to those of the event tree and the stopwatch. */
export function createTimePanel(sources: readonly RowSource[] = []): ProfilePanel {
  return {
    name: 'time',
    label: 'Performance',
    template: 'profiler/panels/time',
    hasContent: () => true,
    toView({ children, parent, profile }) {
      const { duration, memory } = asObject(profile.summary)
      const handled = asNumber(duration) * 1000
      const stopwatch = readStopwatchRows(profile)
      const rows = [
        ...createEventRows(readEventTree(profile), children, handled),
        ...stopwatch.rows,
        ...sources.flatMap(source => source(profile)),
      ]
      const [before, since] = splitRows(rows, handled)
      return {
        metrics: [
          { name: 'Total execution time', value: formatMicroseconds(handled) },
          ...controllerMetric(rows),
          { name: 'Sub-Requests', value: countSubRequests(children) },
          { name: 'Peak memory usage', value: formatBytes(asNumber(memory)) },
        ],
        parent: parent === undefined ? null : { token: parent.token, duration: toDuration(parent) },
        threshold: formatMicroseconds(foldThreshold),
        timeline: createTimeline(before),
        afterwards: createTimeline(since),
        hasAfterwards: since.length > 0,
        dropped: stopwatch.dropped,
      }
    },
  }
}

function controllerMetric(rows: readonly TimelineRow[]): ViewModel[] {
  const periods = rows.filter(({ category }) => category === 'controller').flatMap(({ periods }) => periods)
  const total = periods.reduce((sum, { duration }) => sum + duration, 0)
  return periods.length === 0 ? [] : [{ name: 'Controller', value: formatMicroseconds(total) }]
}

function countSubRequests(children: readonly ProfileSummary[]): string {
  if (children.length === 0) return '0'
  const total = children.reduce((sum, { duration }) => sum + asNumber(duration), 0)
  return `${children.length} in ${formatMicroseconds(total * 1000)}`
}

function toDuration({ duration }: ProfileSummary): string {
  return formatMicroseconds(asNumber(duration) * 1000)
}
