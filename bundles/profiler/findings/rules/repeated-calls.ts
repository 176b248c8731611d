import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { shorten } from '../../format/shorten.ts'
import type { Profile } from '../../profile.ts'
import { durationOf, readCalls, type StoredCall } from '../../reading/read-calls.ts'
import { findRepeated } from '../find-repeated.ts'

const urlLength = 120

/** Finds outgoing requests that were sent again and again: the very same, or those that differ in a value only. */
export const repeatedCallsRule: FindingRule<Profile> = {
  name: 'repeated-calls',
  title: 'Outgoing request repeated',
  find(profile) {
    const { alike, same } = findRepeated(readCalls(profile).calls)
    return [
      ...same.map(({ calls, name }) => ({
        ...describe(calls),
        problem: `{call} was asked for ${calls.length} times, ${tellTime(calls)}.`,
        values: { call: shorten(name, urlLength) },
        advice: 'Ask once and pass the answer on, or keep it for as long as it is good.',
      })),
      ...alike.map(({ calls, name }) => ({
        ...describe(calls),
        problem: `${calls.length} requests are alike but for a value in the address ({pattern}), ${tellTime(calls)}.`,
        values: { pattern: shorten(name, urlLength) },
        advice: 'Ask for all of it at once, if the other side has a way to.',
      })),
    ]
  },
}

type Description = Pick<RuleFinding, 'evidence' | 'place' | 'severity'>

function describe(calls: readonly StoredCall[]): Description {
  return {
    severity: 'warning',
    // The first one may well be needed.
    place: { panel: 'http', anchor: `call-${calls[1]?.index}` },
    evidence: { count: calls.length, time: timeOf(calls) },
  }
}

function tellTime(calls: readonly StoredCall[]): string {
  return `which took ${formatDuration(timeOf(calls))} in all`
}

function timeOf(calls: readonly StoredCall[]): number {
  return calls.reduce((sum, call) => sum + durationOf(call), 0)
}
