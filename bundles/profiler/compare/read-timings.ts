import { groupBy } from '../panels/group-by.ts'
import type { Profile } from '../profile.ts'
import { readEventTree } from '../reading/event-tree.ts'
import { controllerTimes } from '../reading/kernel-gaps.ts'
import { durationOf, readCalls } from '../reading/read-calls.ts'
import { readRenders } from '../reading/read-renders.ts'
import { asNumber, asObject, asObjects, asText } from '../reading/read-soft.ts'

/** How long something took, in all its times together. */
export interface Timing {
  readonly name: string
  /** `main` of what a request is made of, else `event` or `measured`. */
  readonly kind: 'main' | 'event' | 'measured'
  /** Microseconds, whole ones. */
  readonly duration: number
  readonly times: number
}

/** Reads how long a request took, and its controller, templates and outgoing calls; then event by event, and what was measured. */
export function readTimings(profile: Profile): Map<string, Timing> {
  const { summary } = profile
  const data = asObject(profile.data)
  const tree = readEventTree(profile)
  const total = Math.round(summary.duration * 1000)
  const timings: Timing[] = [{ name: 'Total', kind: 'main', duration: total, times: 1 }]
  const add = (name: string, kind: Timing['kind'], durations: readonly number[]) => {
    const duration = Math.round(durations.reduce((sum, each) => sum + Math.max(0, each), 0))
    if (durations.length > 0) timings.push({ name, kind, duration, times: durations.length })
  }

  add('Controller', 'main', controllerTimes(tree.roots, total))
  add(
    'Templates',
    'main',
    readRenders(profile).pages.map(({ duration }) => duration * 1000),
  )
  add(
    'Outgoing calls',
    'main',
    readCalls(profile).calls.map(call => durationOf(call) * 1000),
  )
  const dispatches = tree.nodes.filter(({ kind }) => kind === 'dispatch')
  for (const [name, group] of groupBy(dispatches, ({ name }) => name)) {
    add(
      name,
      'event',
      group.map(({ duration = 0 }) => duration),
    )
  }
  for (const { duration, name } of asObjects(asObject(data.time).measured)) {
    add(asText(name), 'measured', [asNumber(duration)])
  }
  return new Map(timings.map(timing => [`${timing.kind} ${timing.name}`, timing]))
}
