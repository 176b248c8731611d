import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { type EventNode, readEventTree } from '../../profile/event-tree.ts'
import { formatDuration, formatShare } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { findLongBlocks, listenerTime } from '../../subjects/memory/read.ts'
import { findCode, isAwaited } from './finding.ts'

/** Limit of `slow-listener`: ms of a listener. Users notice a tenth of a second. */
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
        advice: `Do less per request, cache the result, or ${node.isOfFramework ? 'do work that the response does not need after it' : 'move work that the response does not need to kernel.terminate'}.`,
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
    total: ({ summary }) => summary.duration,
  },
}

/**
 * The calls of listeners that delay the response, with their own milliseconds, without blocks that
 * have a finding of their own.
 */
function readListenerTimes(profile: Profile): { readonly node: EventNode; readonly time: number }[] {
  const blocks = findLongBlocks(profile)
  return readEventTree(profile)
    .nodes.filter(node => isAwaited(node, profile))
    .map(node => ({ node, time: listenerTime(node, profile, blocks) / 1000 }))
}
