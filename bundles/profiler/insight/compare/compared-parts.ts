import { durationOf, readCalls } from '../../profile/calls.ts'
import { controllerTimes } from '../../profile/event-outline.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { readExceptions } from '../../profile/exceptions.ts'
import { formatSize, formatText, formatValue } from '../../profile/format-value.ts'
import { groupBy } from '../../profile/group-by.ts'
import { readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { readRenders } from '../../profile/renders.ts'
import type { Pairs } from '../../profile/schema.ts'

/** Reads what was sent in the body of a request, as far as it was kept: its fields one by one. */
export function readRequestBody({ collectors }: Profile): Map<string, string> {
  const body = collectors.request?.body
  if (body === undefined) return new Map()
  const parts: [string, string][] = [
    ['media type', body.type],
    ['length', formatSize(body.length)],
    ['state', body.state],
    ['JSON', body.json === undefined ? '' : formatValue(body.json[0])],
    ...[...readPairs(body.form, true, [])].map(([name, values]): [string, string] => [
      `field “${name}”`,
      values.join('\n'),
    ]),
    ...(body.files ?? []).map(({ field, name, size }, index): [string, string] => [
      `file ${index + 1}`,
      [field, name, formatSize(size)].join(', '),
    ]),
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}

/** Headers of error pages that the profiler has made: what they show has times in it. */
const ownPageHeader = 'x-debug-exception'

/** Reads what is known of the body of a response: its size before compression. What stood in it is not recorded. */
export function readResponseBody({ collectors: { response } }: Profile): Map<string, string> {
  if (response === undefined || readPairs(response.headers, false, []).has(ownPageHeader)) return new Map()
  const parts: [string, string][] = [
    ['size', formatSize(response.size)],
    ['transfer', response.isStreamed ? 'streamed' : 'at once'],
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}

/** What a listener has done for an event, in all its calls together. */
export interface ListenerUse {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly calls: number
  /** Microseconds. */
  readonly duration: number
  readonly isStopped: boolean
  readonly hasThrown: boolean
  /** What it has changed, such as `set header etag`. */
  readonly changes: readonly string[]
}

/** Reads who was called in a profile, by event, listener and priority, in the order of the first calls. */
export function readListenerUses(profile: Profile): Map<string, ListenerUse> {
  const uses = new Map<string, ListenerUse>()
  for (const { details, duration = 0, hasThrown, isStopped, kind, name, parent, priority } of readEventTree(profile)
    .nodes) {
    if (kind !== 'call' || parent === undefined) continue
    const key = JSON.stringify([parent.name, name, priority])
    const known = uses.get(key)
    uses.set(key, {
      event: parent.name,
      name,
      priority,
      calls: (known?.calls ?? 0) + 1,
      duration: (known?.duration ?? 0) + duration,
      isStopped: isStopped || known?.isStopped === true,
      hasThrown: hasThrown || known?.hasThrown === true,
      changes: [...(known?.changes ?? []), ...details],
    })
  }
  return uses
}

/** A message, and how often it was logged. */
export interface LogUse {
  readonly level: string
  readonly channel: string
  readonly message: string
  readonly times: number
}

/** Reads what was logged in a profile, by level, channel and message, in the order in which each came first. */
export function readLogUses(profile: Profile): Map<string, LogUse> {
  const uses = new Map<string, LogUse>()
  for (const { channel, level, message } of readLogs(profile).logs) {
    const key = JSON.stringify([level, channel, message])
    uses.set(key, { level, channel, message, times: (uses.get(key)?.times ?? 0) + 1 })
  }
  return uses
}

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
  const { collectors, summary } = profile
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
    'HTTP client calls',
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
  for (const { duration, name } of collectors.time?.measured ?? []) add(name, 'measured', [duration])
  return new Map(timings.map(timing => [`${timing.kind} ${timing.name}`, timing]))
}

/** Reads names and values of a profile, headers or parameters: all values of each name, but for some names. */
export function readPairs(pairs: Pairs = [], hasCase: boolean, without: readonly string[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    if (without.includes(name.toLowerCase())) continue
    const key = hasCase ? name : name.toLowerCase()
    const known = values.get(key)
    if (known === undefined) values.set(key, [formatText(value)])
    else known.push(formatText(value))
  }
  return new Map([...values].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Reads what was thrown in a profile, and how often, by class and message. */
export function readExceptionUses(profile: Profile): Map<string, number> {
  return count(readExceptions(profile).map(({ message, name }) => (message === '' ? name : `${name}: ${message}`)))
}

/** Reads how often each template of a profile was rendered. */
export function readTemplateUses(profile: Profile): Map<string, number> {
  return count(readRenders(profile).all.map(({ name }) => name))
}

/** Reads how each outgoing request of a profile ended, by method and URL. */
export function readCallUses(profile: Profile): Map<string, string[]> {
  const uses = new Map<string, string[]>()
  for (const { method, outcome, url } of readCalls(profile).calls) {
    const name = `${method} ${url}`
    uses.set(name, [...(uses.get(name) ?? []), outcome.text])
  }
  return uses
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
