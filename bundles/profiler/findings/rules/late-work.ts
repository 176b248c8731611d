import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatCount } from '../../format/format-count.ts'
import { formatDuration } from '../../format/format-duration.ts'
import type { Profile } from '../../profile.ts'
import { readCalls } from '../../reading/read-calls.ts'
import { readLogs } from '../../reading/read-logs.ts'
import { readRenders } from '../../reading/read-renders.ts'
import { asObject, asOptionalNumber } from '../../reading/read-soft.ts'

/** Finds work that went on after the response was sent: promises that nobody awaits. */
export const lateWorkRule: FindingRule<Profile> = {
  name: 'late-work',
  title: 'Work after the response',
  find(profile) {
    const since = asOptionalNumber(asObject(profile.data.late).since)
    return since === undefined ? [] : describe(profile, since)
  },
}

function describe(profile: Profile, since: number): RuleFinding[] {
  const calls = readCalls(profile).calls.filter(({ head = Infinity, end = head }) => end > since)
  const logs = readLogs(profile).logs.filter(({ at }) => at / 1000 > since)
  const renders = readRenders(profile).all.filter(({ start }) => start > since)
  const kinds = [
    { panel: 'http', anchor: `call-${calls[0]?.index}`, count: calls.length, one: 'outgoing request' },
    { panel: 'logger', anchor: `log-${logs[0]?.index}`, count: logs.length, one: 'log record' },
    { panel: 'templates', anchor: `render-${renders[0]?.index}`, count: renders.length, one: 'template' },
  ].filter(({ count }) => count > 0)
  const [first] = kinds
  if (first === undefined) return []
  const ends = [...calls.flatMap(({ end = since }) => end), ...logs.map(({ at }) => at / 1000)]
  const time = Math.max(since, ...ends, ...renders.map(({ start }) => start)) - since
  const what = kinds.map(({ count, one }) => formatCount(count, one)).join(', ')
  return [
    {
      severity: 'warning',
      problem: `Its response was sent, but work went on${time > 0 ? ` for ${formatDuration(time)}` : ''}: ${what}.`,
      advice:
        'Await it, or do it in a listener of kernel.terminate: what nobody awaits fails unseen and is lost at a stop.',
      place: { panel: first.panel, anchor: first.anchor },
      evidence: { calls: calls.length, logs: logs.length, renders: renders.length, time },
    },
  ]
}
