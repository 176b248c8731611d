import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { formatDuration, formatPlace } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { leakChannel } from '../../profile/work-data.ts'
import { describePlaces } from './describe-places.ts'
import { findBlockingCalls } from './loop-rules.ts'

/** Finds objects with more listeners of an event than their limit, added by one request or by several. */
export const listenerLeakRule: FindingRule<Profile> = {
  name: 'listener-leak',
  title: 'Listeners not removed',
  // Node.js warns once about an object.
  isRepeatable: false,
  find: profile =>
    readLogs(profile)
      .logs.filter(({ channel }) => channel === leakChannel)
      .map(log => {
        const [, count = '', event = '', target = ''] = warning.exec(log.message) ?? []
        const isKnown = count !== ''
        return {
          severity: 'warning',
          problem: isKnown ? `{target} has ${count} listeners of {event}, which is more than its limit.` : '{message}',
          ...describePlaces(
            [log],
            isKnown ? { event, target } : { message: log.message },
            'Add the listener once, or remove it when the request has ended; once() removes it after its event',
          ),
          place: { panel: 'logger', anchor: `log-${log.index}` },
          evidence: { count: Number(count) },
        }
      }),
}

/** The message of `MaxListenersExceededWarning`. */
const warning = /(\d+) (\S+) listeners added to (?:\[)?(\w+)/

/** Finds long synchronous calls: the event loop handles no other request meanwhile. */
export const synchronousCallRule: FindingRule<Profile> = {
  name: 'synchronous-call',
  title: 'Synchronous call',
  find(profile) {
    const blocking = findBlockingCalls(profile)
    const calls = (profile.collectors.memory?.syncCalls ?? [])
      .filter(call => !blocking.includes(call))
      .map(({ caller = {}, ...call }) => ({ ...call, caller }))
    return [...groupBy(calls, ({ caller, name }) => `${name} ${formatPlace(caller)}`).values()].map(group => {
      const [{ name = '' } = {}] = group
      const time = group.reduce((sum, { duration }) => sum + duration, 0)
      return {
        severity: 'warning',
        problem: `{call} blocked the event loop for ${formatDuration(time)}${group.length > 1 ? ` (${group.length} calls)` : ''}.`,
        ...describePlaces(
          group,
          { call: `${name}()`, promise: name.replace(/^fs\./, 'fs.promises.').replace(/Sync$/, '') },
          'Await the asynchronous function instead ({promise})',
        ),
        place: { panel: 'time' },
        evidence: { count: group.length, time },
      }
    })
  },
  measure: {
    unit: 'ms',
    read: ({ values }, { collectors }) =>
      (collectors.memory?.syncCalls ?? [])
        .filter(({ name }) => `${name}()` === values?.call)
        .reduce((sum, { duration }) => sum + duration, 0),
  },
}
