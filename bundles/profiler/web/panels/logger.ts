import { isDeepStrictEqual } from 'node:util'
import { type LogLevel, logLevels } from '../../../../lib/log/logger.ts'
import type { ViewModel } from '../../../../lib/view/view.ts'
import { type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { readExcerpts } from '../../profile/exceptions.ts'
import { formatCount, formatMicroseconds, shorten } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { describeSubRequest, profileLink } from '../../profile/links.ts'
import { deriveNotifications, type Notification, readLogs, type StoredLog } from '../../profile/logs.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { TreeViewer } from '../../profile/tree-view.ts'
import type { EditorLinks } from '../editor-links.ts'
import { type ExceptionView, viewChain } from './exception.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

/** Creates the panel of log messages, with the notifications of listeners that follow from the event tree. */
export function createLoggerPanel(editor: EditorLinks): ProfilePanel {
  return {
    name: 'logger',
    label: 'Logs',
    template: 'profiler/panels/logger',
    hasContent: profile => readLogs(profile).logs.length > 0,
    badge({ summary: { errors, warnings } }) {
      if (errors > 0) return { text: String(errors), level: 'error' }
      return warnings > 0 ? { text: String(warnings), level: 'warning' } : { text: '', level: 'plain' }
    },
    toView: subject => toView(subject, editor),
  }
}

function toView({ children, profile, query }: PanelSubject, editor: EditorLinks): ViewModel {
  const { dropped, logs } = readLogs(profile)
  const tree = readEventTree(profile)
  const notifications = deriveNotifications(tree)
  const { parent, time, token } = profile.summary
  const filter = readLogFilter(query)
  const channels = [...new Set(logs.map(({ channel }) => channel))].filter(Boolean).sort()
  const excerpts = readExcerpts(profile)
  const viewErrors: LogView['viewErrors'] = ({ exceptions, index }) =>
    exceptions.flatMap(({ chain, name }) => viewChain(chain, `log-${index}-${name}`, excerpts, editor))
  const view = { clock: toClock(time), editor, filter, viewer: new TreeViewer(), viewErrors }
  const lines = [
    ...toLogLines(logs, view),
    ...toEventLines(notifications, logs, view),
    ...toSubRequestLines(tree, children, view),
  ]
  return {
    action: profileLink(token),
    parent: parent ?? '',
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

/** The number of messages of each level and above. The summary also counts the messages that were dropped. */
function toLevels({ summary }: Profile, logs: readonly StoredLog[], filter: LogFilter): ViewModel[] {
  const counted = { error: summary.errors, warning: summary.errors + summary.warnings }
  return logLevels.map(level => {
    const kept = logs.filter(log => levelsUpTo(log.level).includes(level)).length
    const count = level === 'error' || level === 'warning' ? Math.max(kept, counted[level]) : kept
    return { level, value: level === 'debug' ? '' : level, count, isSelected: level === filter.level }
  })
}

/** Turns a time of the request into a time of the day. */
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
  readonly editor: EditorLinks
  readonly clock: Clock
  readonly filter: LogFilter
  readonly viewer: TreeViewer
  /** Creates the views of the errors in the context of a message. */
  readonly viewErrors: (log: StoredLog) => readonly ExceptionView[]
}

interface Line extends ViewModel {
  readonly at: number
  /** The order of lines of the same moment: log messages come before notifications. */
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

/** A message that is repeated in a row is one line. */
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
  const { at, caller, channel, context: values, index, isCut, level, message, template } = log
  const names = Object.keys(values)
  const hasContext = names.length > 0
  const exceptions = view.viewErrors(log)
  const errors = exceptions.map(({ message, name }) => `${name} ${message}`)
  const place = view.editor.view(caller)
  const text = [
    message,
    channel,
    level,
    template,
    hasContext ? JSON.stringify(values) : '',
    place.place,
    place.call,
    ...errors,
  ].join(' ')
  return {
    isLog: true,
    index,
    parts: splitMessage(message, template),
    template,
    times: again.length === 0 ? '' : `${again.length + 1} times`,
    again: again.map(({ index }) => index),
    context: hasContext && view.viewer.viewJson(values, true),
    names: shorten(names.join(', '), namesLimit),
    exceptions,
    crumbs: [],
    isCut,
    ...place,
    ...toLine(at, 0, { level, channel, text, isEvent: false }, view),
  }
}

const namesLimit = 80

/** Notifications without a log message between them are one line, which can be unfolded. */
function toEventLines(notifications: readonly Notification[], logs: readonly StoredLog[], view: LogView): Line[] {
  const times = logs.map(({ at }) => at).sort((a, b) => a - b)
  const groups = groupBy(notifications, ({ at }) => String(times.filter(time => time <= at).length))
  return [...groups.values()].map(group => {
    const messages = group.map(({ at, message }) => ({ offset: view.clock(at).offset, message }))
    const text = messages.map(({ message }) => message).join(' ')
    const at = Math.min(...group.map(({ at }) => at))
    return {
      isLog: false,
      title: formatCount(messages.length, 'event notification'),
      messages,
      ...toLine(at, 1, { level: 'debug', channel: 'event', text, isEvent: true }, view),
    }
  })
}

/** The messages of a sub-request are in its own profile. A line here shows when it ran. */
function toSubRequestLines(tree: EventTree, children: readonly ProfileSummary[], view: LogView): Line[] {
  return tree.nodes
    .filter(({ kind }) => kind === 'request')
    .map(node => {
      const { name, token } = describeSubRequest(node, children)
      const { errors = 0, warnings = 0 } = children.find(child => child.token === token) ?? {}
      const level = errors > 0 ? 'error' : warnings > 0 ? 'warning' : 'debug'
      return {
        isLog: false,
        isSubRequest: true,
        name,
        token,
        badges: [
          ...(errors > 0 ? [{ text: formatCount(errors, 'error'), tone: 'error' }] : []),
          ...(warnings > 0 ? [{ text: formatCount(warnings, 'warning'), tone: 'warning' }] : []),
        ],
        ...toLine(node.start, 0, { level, channel: '', text: name, isEvent: false }, view),
      }
    })
}

/** Which lines of the log are shown. */
interface LogFilter {
  /** The lowest level. */
  readonly level: LogLevel
  /** Empty for all. */
  readonly channel: string
  /** Words that a line must contain. */
  readonly text: string
  /** Whether notifications are shown as well. */
  readonly hasEvents: boolean
}

/** The parts of a line that the filter looks at. */
interface FilteredLine {
  readonly level: LogLevel
  readonly channel: string
  readonly text: string
  readonly isEvent: boolean
}

/** Reads the filter of an address: `?level=warning&channel=app&text=price&events=1`. */
function readLogFilter(query: PanelSubject['query']): LogFilter {
  return {
    level: logLevels.find(level => level === query.get('level')) ?? 'debug',
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
  }
}

/** Whether a line is shown. The client script filters by the same rules, without a request. */
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

/** The levels for which a message of this level is shown, when they are the lowest level of the filter. */
function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}

/** A part of a log message. */
interface MessagePart {
  readonly text: string
  /** Whether it is the value of a placeholder. */
  readonly isValue: boolean
}

const placeholder = /\{[\w.-]+\}/g

/**
 * Splits a log message into its constant sentence and its values. If both do not match, because one was cut, the message
 * is one part. An empty template has no placeholders.
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
