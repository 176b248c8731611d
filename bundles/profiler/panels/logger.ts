import { isDeepStrictEqual } from 'node:util'
import type { ViewModel } from '../../../lib/view/view.ts'
import { readEventTree } from './event-tree.ts'
import { formatMicroseconds } from './format-microseconds.ts'
import { formatValue } from './format-value.ts'
import { deriveNotifications, type Notification } from './notifications.ts'
import type { ProfilePanel } from './panel.ts'
import { readLogs, type StoredLog } from './read-logs.ts'
import { asNumber, asObject } from './read-soft.ts'

/** Creates the panel of what was logged, with what the event tree says of who was told of which event. */
export function createLoggerPanel(): ProfilePanel {
  return {
    name: 'logger',
    label: 'Logs',
    template: 'profiler/panels/logger',
    hasContent: profile => readLogs(profile).logs.length > 0,
    badge({ summary }) {
      const { errors, warnings } = asObject(summary)
      if (asNumber(errors) > 0) return { text: String(errors), level: 'error' }
      if (asNumber(warnings) > 0) return { text: String(warnings), level: 'warning' }
      return { text: '', level: 'plain' }
    },
    toView({ profile }) {
      const { dropped, logs } = readLogs(profile)
      const notifications = deriveNotifications(readEventTree(profile))
      const { errors, time, warnings } = asObject(profile.summary)
      const countOf = (level: string) => String(logs.filter(log => log.level === level).length)
      return {
        metrics: [
          { name: 'Errors', value: String(asNumber(errors)) },
          { name: 'Warnings', value: String(asNumber(warnings)) },
          { name: 'Info', value: countOf('info') },
          { name: 'Debug', value: countOf('debug') },
          { name: 'Event notifications', value: String(notifications.length) },
        ],
        hasLogs: logs.length > 0,
        dropped,
        entries: toEntries(logs, notifications, toClock(asNumber(time))),
      }
    },
  }
}

/** Times of the pass as times of the day. */
type Clock = (microseconds: number) => { readonly iso: string; readonly time: string; readonly offset: string }

function toClock(begin: number): Clock {
  return microseconds => {
    const date = new Date(begin + microseconds / 1000)
    const iso = Number.isNaN(date.getTime()) ? '' : date.toISOString()
    return { iso, time: iso.slice(-13, -1), offset: `+${formatMicroseconds(microseconds)}` }
  }
}

/** Both in the order of time; what is told of events in a row stands together, to be folded. */
function toEntries(logs: readonly StoredLog[], notifications: readonly Notification[], clock: Clock): ViewModel[] {
  const entries: ViewModel[] = []
  let next = 0
  for (const { log, times } of groupRepeated(logs)) {
    // What was logged within a listener stands before what is told of its event when that is over.
    const end = notifications.findIndex(({ at }, index) => index >= next && at >= log.at)
    const until = end === -1 ? notifications.length : end
    entries.push(...toNotificationEntry(notifications.slice(next, until), clock), toLogEntry(log, times, clock))
    next = until
  }
  return [...entries, ...toNotificationEntry(notifications.slice(next), clock)]
}

/** The same message logged again and again is one line. */
function groupRepeated(logs: readonly StoredLog[]): { readonly log: StoredLog; readonly times: number }[] {
  const groups: { readonly log: StoredLog; times: number }[] = []
  for (const log of logs) {
    const group = groups.at(-1)
    if (group !== undefined && isRepeated(group.log, log)) group.times++
    else groups.push({ log, times: 1 })
  }
  return groups
}

function isRepeated(previous: StoredLog, log: StoredLog): boolean {
  return log.message === previous.message && isDeepStrictEqual({ ...previous, at: 0 }, { ...log, at: 0 })
}

function toLogEntry(log: StoredLog, times: number, clock: Clock): ViewModel {
  const { at, channel, context, function: name, isCut, level, message, place, template } = log
  return {
    ...clock(at),
    isLog: true,
    level,
    channel,
    message,
    template,
    times: times === 1 ? '' : `${times} times`,
    context: Object.keys(context).length === 0 ? '' : formatValue(context),
    isCut,
    place,
    function: name,
  }
}

function toNotificationEntry(notifications: readonly Notification[], clock: Clock): ViewModel[] {
  const [first] = notifications
  if (first === undefined) return []
  const messages = notifications.map(({ at, message }) => ({ offset: clock(at).offset, message }))
  const title = messages.length === 1 ? '1 event notification' : `${messages.length} event notifications`
  return [{ ...clock(first.at), isLog: false, title, messages }]
}
