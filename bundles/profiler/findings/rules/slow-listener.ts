import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { formatDuration } from '../../format/format-duration.ts'
import { formatShare } from '../../format/format-share.ts'
import type { Profile } from '../../profile.ts'
import { type EventNode, ownTime, readEventTree } from '../../reading/event-tree.ts'
import { asNumber } from '../../reading/read-soft.ts'

/** Milliseconds: who waits notices a tenth of a second. */
const leastTime = 100

/** Of the whole request: beside something much slower it is not what to begin with. */
const leastShare = 0.2

/**
 * Listeners of the framework and of the profiler. What they wait for (the client's body, the disk, other threads) is
 * not theirs, and nobody can make them do less.
 */
export const ownListeners: ReadonlySet<string> = new Set([
  ...['ValidateRequestListener', 'HealthListener', 'HostListener', 'SessionListener', 'StaticFileListener'],
  ...['RouterListener', 'BodyListener', 'ErrorListener', 'ResponseListener', 'CompressionListener'],
  ...['ConditionalListener', 'RemoveCspListener', 'RobotsListener'],
  ...['ProfilerListener', 'ToolbarListener', 'WelcomeListener'],
])

/** Finds listeners that took long themselves, without what they have dispatched. */
export const slowListenerRule: FindingRule<Profile> = {
  name: 'slow-listener',
  title: 'Slow listener',
  find(profile) {
    const whole = asNumber(profile.summary.duration)
    return readEventTree(profile)
      .nodes.filter(isExpected)
      .map(node => ({ node, time: ownTime(node) / 1000 }))
      .filter(({ time }) => time >= leastTime && time >= whole * leastShare)
      .map(({ node, time }) => ({
        severity: 'warning',
        problem: `{listener} took ${formatDuration(time)} of {event}, ${formatShare(time, whole)} of the request.`,
        values: { listener: node.name, event: String(node.parent?.name) },
        advice: 'Do less for each request, keep the result, or move what nobody waits for to kernel.terminate.',
        place: { panel: 'events', anchor: `span-${node.index}` },
        evidence: { time, duration: whole },
      }))
  },
}

/** Nobody waits for what is done when the response was sent. */
function isExpected({ kind, name, parent }: EventNode): boolean {
  // They are named by their class and method.
  const [owner = ''] = name.split('.', 1)
  return kind === 'call' && parent?.name !== 'kernel.terminate' && !ownListeners.has(owner)
}
