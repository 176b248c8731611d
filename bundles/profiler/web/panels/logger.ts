import { isDeepStrictEqual } from 'node:util'
import { type LogLevel, logLevels } from '../../../../lib/log/logger.ts'
import type { ViewModel } from '../../../../lib/view/view.ts'
import { type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatMicroseconds, shorten } from '../../profile/format.ts'
import { formatValue } from '../../profile/format-value.ts'
import { groupBy } from '../../profile/group-by.ts'
import { describeSubRequest, recordLink } from '../../profile/links.ts'
import { deriveNotifications, type Notification, readLogs, type StoredLog } from '../../profile/logs.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { asNumber, asObject, asText } from '../../profile/read-soft.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

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
    toView,
  }
}

function toView({ children, profile, query }: PanelSubject): ViewModel {
  const { dropped, logs } = readLogs(profile)
  const tree = readEventTree(profile)
  const notifications = deriveNotifications(tree)
  const { parent, time, token } = asObject(profile.summary)
  const filter = readLogFilter(query)
  const channels = [...new Set(logs.map(({ channel }) => channel))].filter(Boolean).sort()
  const view = { clock: toClock(asNumber(time)), filter }
  const lines = [
    ...toLogLines(logs, view),
    ...toEventLines(notifications, logs, view),
    ...toSubRequestLines(tree, children, view),
  ]
  return {
    action: recordLink(asText(token)),
    parent: typeof parent === 'string' ? parent : '',
    levels: toLevels(profile, logs, filter),
    channels: channels.map(channel => ({ channel, isSelected: channel === filter.channel })),
    text: filter.text,
    events: notifications.length === 0 ? '' : formatCount(notifications.length, 'event notification'),
    hasEvents: filter.hasEvents,
    hasLogs: logs.length > 0,
    hasPlaces: logs.some(({ place }) => place !== ''),
    dropped,
    lines: lines.sort((a, b) => a.at - b.at || a.rank - b.rank),
  }
}

/** How many records there are of each level and above; the summary knows also of those that were not kept. */
function toLevels({ summary }: Profile, logs: readonly StoredLog[], filter: LogFilter): ViewModel[] {
  const { errors, warnings } = asObject(summary)
  const told = { error: asNumber(errors), warning: asNumber(errors) + asNumber(warnings) }
  return logLevels.map(level => {
    const kept = logs.filter(log => levelsUpTo(log.level).includes(level)).length
    const count = level === 'error' || level === 'warning' ? Math.max(kept, told[level]) : kept
    return { level, value: level === 'debug' ? '' : level, count, isSelected: level === filter.level }
  })
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

/** How lines are shown. */
interface LogView {
  readonly clock: Clock
  readonly filter: LogFilter
}

interface Line extends ViewModel {
  readonly at: number
  /** Decides between lines of one moment: what is told of an event follows what was logged in it. */
  readonly rank: number
}

function toLine(at: number, rank: number, found: FilteredLine, { clock, filter }: LogView): Line {
  const { channel, isEvent, level } = found
  return {
    at,
    rank,
    ...clock(at),
    level,
    channel,
    levels: levelsUpTo(level).join(' '),
    isEvent,
    isHidden: !isShown(filter, found),
  }
}

/** The same message logged again and again is one line. */
function toLogLines(logs: readonly StoredLog[], view: LogView): Line[] {
  const groups: { readonly log: StoredLog; readonly again: StoredLog[] }[] = []
  for (const log of logs) {
    const group = groups.at(-1)
    if (group !== undefined && isRepeated(group.log, log)) group.again.push(log)
    else groups.push({ log, again: [] })
  }
  return groups.map(({ again, log }) => toLogLine(log, again, view))
}

function isRepeated(previous: StoredLog, log: StoredLog): boolean {
  const { at, index } = previous
  return log.message === previous.message && isDeepStrictEqual(previous, { ...log, at, index })
}

function toLogLine(log: StoredLog, again: readonly StoredLog[], view: LogView): Line {
  const { at, channel, context: values, function: name, index, isCut, level, message, place, template } = log
  const names = Object.keys(values)
  const context = names.length === 0 ? '' : formatValue(values)
  const text = [message, channel, level, template, context, place, name].join(' ')
  return {
    ...toLine(at, 0, { level, channel, text, isEvent: false }, view),
    isLog: true,
    index,
    parts: splitMessage(message, template),
    template,
    times: again.length === 0 ? '' : `${again.length + 1} times`,
    again: again.map(({ index }) => index),
    context,
    names: shorten(names.join(', '), namesLimit),
    isCut,
    place,
    function: name,
  }
}

const namesLimit = 80

/** What is told of events in a row, with nothing logged in between, stands together, to be folded. */
function toEventLines(notifications: readonly Notification[], logs: readonly StoredLog[], view: LogView): Line[] {
  const times = logs.map(({ at }) => at).sort((a, b) => a - b)
  const groups = groupBy(notifications, ({ at }) => String(times.filter(time => time <= at).length))
  return [...groups.values()].map(group => {
    const messages = group.map(({ at, message }) => ({ offset: view.clock(at).offset, message }))
    const text = messages.map(({ message }) => message).join(' ')
    const at = Math.min(...group.map(({ at }) => at))
    return {
      ...toLine(at, 1, { level: 'debug', channel: 'event', text, isEvent: true }, view),
      isLog: false,
      title: formatCount(messages.length, 'event notification'),
      messages,
    }
  })
}

/** What a sub-request has logged stands in its own record; here stands when that was. */
function toSubRequestLines(tree: EventTree, children: readonly ProfileSummary[], view: LogView): Line[] {
  return tree.nodes
    .filter(({ kind }) => kind === 'request')
    .map(node => {
      const { name, token } = describeSubRequest(node, children)
      const { errors, warnings } = asObject(children.find(child => child.token === token))
      const [failed, warned] = [asNumber(errors), asNumber(warnings)]
      const level = failed > 0 ? 'error' : warned > 0 ? 'warning' : 'debug'
      return {
        ...toLine(node.start, 0, { level, channel: '', text: name, isEvent: false }, view),
        isLog: false,
        isSubRequest: true,
        name,
        token,
        badges: [
          ...(failed > 0 ? [{ text: formatCount(failed, 'error'), tone: 'error' }] : []),
          ...(warned > 0 ? [{ text: formatCount(warned, 'warning'), tone: 'warning' }] : []),
        ],
      }
    })
}

/** Which lines of a log are asked for. */
export interface LogFilter {
  /** At least this. */
  readonly level: LogLevel
  /** Empty for all. */
  readonly channel: string
  /** Words that have to occur. */
  readonly text: string
  /** Whether lines that follow from the event tree are shown as well. */
  readonly hasEvents: boolean
}

/** What a line is found by. */
export interface FilteredLine {
  readonly level: LogLevel
  readonly channel: string
  readonly text: string
  readonly isEvent: boolean
}

/** Reads the filter of an address: `?level=warning&channel=app&text=price&events=1`. */
export function readLogFilter(query: PanelSubject['query']): LogFilter {
  return {
    level: logLevels.find(level => level === query.get('level')) ?? 'debug',
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
  }
}

/** Decides as the script does, which shows and hides the same lines without asking the server. */
export function isShown(filter: LogFilter, line: FilteredLine): boolean {
  const text = line.text.toLowerCase()
  return (
    levelsUpTo(line.level).includes(filter.level) &&
    (filter.channel === '' || line.channel === filter.channel) &&
    (filter.hasEvents || !line.isEvent) &&
    filter.text
      .toLowerCase()
      .split(/\s+/)
      .every(word => text.includes(word))
  )
}

/** The levels that a record meets when they are the least that is asked for. */
export function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}

/** A part of a log message. */
export interface MessagePart {
  readonly text: string
  /** Whether it has filled a placeholder. */
  readonly isValue: boolean
}

const placeholder = /\{[\w.-]+\}/g

/**
 * Tells the values of a log message from the constant sentence that they were filled into. Where both do not fit
 * together, because one was cut, the message is one part; an empty template has no placeholders.
 */
export function splitMessage(message: string, template: string): MessagePart[] {
  const whole = [{ text: message, isValue: false }]
  const placeholders = template.match(placeholder) ?? []
  const [first = '', ...literals] = template.split(placeholder)
  if (!message.startsWith(first)) return whole
  const parts = [{ text: first, isValue: false }]
  let from = first.length
  for (const [index, literal] of literals.entries()) {
    const end = index === literals.length - 1 ? findEnd(message, literal) : message.indexOf(literal, from)
    if (end < from) return whole
    const value = message.slice(from, end)
    parts.push({ text: value, isValue: value !== placeholders[index] }, { text: literal, isValue: false })
    from = end + literal.length
  }
  return from < message.length ? whole : parts.filter(({ text }) => text !== '')
}

function findEnd(message: string, literal: string): number {
  return message.endsWith(literal) ? message.length - literal.length : -1
}
