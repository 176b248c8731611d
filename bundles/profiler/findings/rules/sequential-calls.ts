import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { groupBy } from '../../panels/group-by.ts'
import type { Profile } from '../../profile.ts'
import { type EventNode, readEventTree } from '../../reading/event-tree.ts'
import { durationOf, readCalls, type StoredCall } from '../../reading/read-calls.ts'
import { asNumber } from '../../reading/read-soft.ts'
import { findRepeated, isAnswered } from '../find-repeated.ts'

/** Milliseconds; for less, nobody rewrites anything. */
const leastSaving = 50

/** Finds outgoing requests of one listener or controller that were sent one after another, and perhaps need not be. */
export const sequentialCallsRule: FindingRule<Profile> = {
  name: 'sequential-calls',
  title: 'Outgoing requests one after another',
  find(profile) {
    const { calls } = readCalls(profile)
    const { alike, same } = findRepeated(calls)
    // They have a finding of their own, and better advice.
    const repeated = new Set([...same, ...alike].flatMap(({ calls }) => calls))
    const listeners = readEventTree(profile).nodes.filter(({ kind }) => kind === 'call')
    // Afterwards nobody waits for them.
    const end = asNumber(profile.summary.duration)
    const candidates = calls.filter(call => call.start < end && isAnswered(call) && !repeated.has(call))
    const byMaker = groupBy(candidates, call => String(findMaker(call, listeners)))
    return [...byMaker.values()].flatMap(findRuns).flatMap(describe)
  },
}

/** The innermost listener that was called when it was sent: the last of those that have begun. The controller is none. */
function findMaker({ start }: StoredCall, listeners: readonly EventNode[]): number {
  const at = start * 1000
  const maker = listeners.findLast(node => node.start <= at && at < node.start + (node.duration ?? Infinity))
  return maker?.index ?? -1
}

/** Those that were under way alone, up to one that was not. */
function findRuns(calls: readonly StoredCall[]): StoredCall[][] {
  const runs: StoredCall[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const call of calls.toSorted((a, b) => a.start - b.start)) {
    if (call.start >= end) (runs.at(-1) ?? open(runs)).push(call)
    else {
      // It has begun before the one before it was over: those two are no run.
      runs.at(-1)?.pop()
      open(runs)
    }
    end = Math.max(end, endOf(call))
  }
  return runs
}

function open(runs: StoredCall[][]): StoredCall[] {
  const run: StoredCall[] = []
  runs.push(run)
  return run
}

function endOf(call: StoredCall): number {
  return call.start + durationOf(call)
}

function describe(run: readonly StoredCall[]): RuleFinding[] {
  const durations = run.map(durationOf)
  const time = durations.reduce((sum, duration) => sum + duration, 0)
  const saving = time - Math.max(0, ...durations)
  const [, second] = run
  if (second === undefined || saving < leastSaving) return []
  return [
    {
      severity: 'warning',
      problem: `${run.length} requests waited for one another, ${formatDuration(time)} in all; side by side they would take about ${formatDuration(time - saving)}.`,
      advice: 'If none needs the answer of another, send them together and wait with Promise.all().',
      place: { panel: 'http', anchor: `call-${second.index}` },
      evidence: { count: run.length, time, saving },
    },
  ]
}
