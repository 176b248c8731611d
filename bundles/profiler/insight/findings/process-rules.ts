import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { leakChannel } from '../../profile/work-data.ts'
import { describePlaces } from './describe-places.ts'

/** Finds objects that have got one more listener with each request. Node.js warns once about each. */
export const listenerLeakRule: FindingRule<Profile> = {
  name: 'listener-leak',
  title: 'Listeners not removed',
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
