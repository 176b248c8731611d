import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { isLate, readCalls } from '../../profile/calls.ts'
import { type EventNode, findBundle, findSite, ownTime, readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import { readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { readQueries } from '../../profile/queries.ts'
import { readRenders } from '../../profile/renders.ts'

/** Milliseconds: users notice a tenth of a second. */
const leastTime = 100

/** Finds listeners that took long, without the time of the events that they dispatched. */
export const slowListenerRule: FindingRule<Profile> = {
  name: 'slow-listener',
  title: 'Slow listener',
  find(profile) {
    const whole = profile.summary.duration
    return readListenerTimes(profile)
      .filter(({ time }) => time >= leastTime)
      .map(({ node, time }) => ({
        severity: 'warning',
        problem: `{listener} took ${formatDuration(time)} of {event}, ${formatShare(time, whole)} of the request.`,
        values: { listener: node.name, event: node.parent?.name ?? '' },
        advice:
          'Do less per request, cache the result, or move work that the response does not need to kernel.terminate.',
        ...findCode(node, profile),
        place: { panel: 'events', anchor: `span-${node.index}` },
        evidence: { time, duration: whole },
      }))
  },
  measure: {
    unit: 'ms',
    read({ values }, profile) {
      const calls = readListenerTimes(profile).filter(
        ({ node }) => node.name === values?.listener && node.parent?.name === values.event,
      )
      return Math.max(0, ...calls.map(({ time }) => time))
    },
  },
}

/** The calls of listeners that delay the response, with their own milliseconds. */
function readListenerTimes(profile: Profile): { readonly node: EventNode; readonly time: number }[] {
  return readEventTree(profile)
    .nodes.filter(node => isAwaited(node, profile))
    .map(node => ({ node, time: ownTime(node) / 1000 }))
}

/** The line where a listener was registered, mostly in the file that contains it. */
export function findCode(node: EventNode, profile: Profile): Pick<RuleFinding, 'code'> {
  const [, file, line] = /^(.+):(\d+)$/s.exec(findSite(node, profile) ?? '') ?? []
  return file === undefined ? {} : { code: { file, line: Number(line) } }
}

/**
 * Whether a node is a listener of the application that delays the response. The application cannot make those of the
 * package faster, which wait for the client's body, the disk or other threads.
 */
function isAwaited(node: EventNode, profile: Profile): boolean {
  return node.kind === 'call' && node.parent?.name !== 'kernel.terminate' && findBundle(node, profile) === undefined
}

/** Finds work that continued after the response was sent, because its promise was not awaited. */
export const lateWorkRule: FindingRule<Profile> = {
  name: 'late-work',
  title: 'Work after the response',
  find(profile) {
    const { late } = profile.collectors
    return late === undefined ? [] : describeLateWork(profile, late.since)
  },
}

function describeLateWork(profile: Profile, since: number): RuleFinding[] {
  const calls = readCalls(profile).calls.filter(call => isLate(call, since))
  const logs = readLogs(profile).logs.filter(({ at }) => at / 1000 > since)
  const renders = readRenders(profile).all.filter(({ start }) => start > since)
  const queries = readQueries(profile).queries.filter(({ end = Infinity }) => end > since)
  const kinds = [
    {
      panel: queries[0]?.kind ?? '',
      anchor: `query-${queries[0]?.index}`,
      count: queries.length,
      one: 'query',
      many: 'queries',
    },
    { panel: 'http', anchor: `call-${calls[0]?.index}`, count: calls.length, one: 'HTTP client call' },
    { panel: 'logger', anchor: `log-${logs[0]?.index}`, count: logs.length, one: 'log message' },
    { panel: 'templates', anchor: `render-${renders[0]?.index}`, count: renders.length, one: 'template' },
  ].filter(({ count }) => count > 0)
  const [first] = kinds
  if (first === undefined) return []
  const ends = [...[...calls, ...queries].flatMap(({ end = since }) => end), ...logs.map(({ at }) => at / 1000)]
  const time = Math.max(since, ...ends, ...renders.map(({ start }) => start)) - since
  const what = kinds.map(({ count, many, one }) => formatCount(count, one, many)).join(', ')
  return [
    {
      severity: 'warning',
      problem: `Work continued after the response was sent${time > 0 ? `, for ${formatDuration(time)}` : ''}: ${what}.`,
      advice:
        'Await it, or do it in a listener of kernel.terminate: the errors of work that is not awaited are lost, and so is the work when the process stops.',
      place: { panel: first.panel, anchor: first.anchor },
      evidence: { queries: queries.length, calls: calls.length, logs: logs.length, renders: renders.length, time },
    },
  ]
}
