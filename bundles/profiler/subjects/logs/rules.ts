import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { describePlaces } from '../../insight/findings/finding.ts'
import { formatNumber, shorten, toOneLine } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { leakChannel } from '../../record/node-warnings.ts'
import { readLogs } from './read.ts'
import { mostLogs } from './record.ts'

/** Finds requests that logged too much. Messages of the level `debug` do not count: production does not write them. */
export const manyLogsRule: FindingRule<Profile> = {
  name: 'many-logs',
  title: 'Many log messages',
  find(profile) {
    const { count, left, written } = readWritten(profile)
    if (count <= mostLogs) return []
    // The message that is one too many; it was recorded with its place.
    const located = written.slice(mostLogs, mostLogs + 1)
    const [{ message = '', template = '' } = {}] = located
    const kept = written.filter(log => (template === '' ? log.message === message : log.template === template)).length
    const alike = left.reduce(
      (sum, { message: text, times }) => sum + (text === (template || message) ? times : 0),
      kept,
    )
    const text = toOneLine(template || message).replace(/\.$/, '')
    const most = alike > count / 2 ? `, ${formatNumber(alike)} of them {message}` : ''
    return [
      {
        severity: 'warning',
        problem: `The request logged ${formatNumber(count)} messages${most}.`,
        ...describePlaces(
          located,
          { message: shorten(text, messageLength) },
          'Log once for all items, or with the level debug',
        ),
        place: { panel: 'logger', anchor: `log-${located[0]?.index}` },
        evidence: { count },
      },
    ]
  },
  measure: { unit: 'log messages', read: (_, profile) => readWritten(profile).count },
}

/** The log messages of a profile without those of the level debug, and how many there were. */
function readWritten(profile: Profile) {
  const { dropped, left, logs } = readLogs(profile)
  const written = logs.filter(({ level }) => level !== 'debug')
  const unwritten = left.reduce((sum, { level, times }) => sum + (level === 'debug' ? times : 0), 0)
  return { written, left: left.filter(({ level }) => level !== 'debug'), count: written.length + dropped - unwritten }
}

const messageLength = 80

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
          problem: isKnown
            ? `{target} has at least ${count} listeners of {event}, which is more than its limit.`
            : '{message}',
          ...describePlaces(
            // One warning does not show whether its nearest line is a helper that adds the listener for others.
            [log, ...(log.caller.callers ?? []).map(caller => ({ caller }))],
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
