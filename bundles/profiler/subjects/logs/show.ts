import { isDeepStrictEqual } from 'node:util'
import { type LogLevel, logLevels } from '../../../../lib/log/logger.ts'
import { toList, toSpan, toValueSpan } from '../../export/markdown-text.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { findAnswered, readExcerpts, type StoredException, toPlace } from '../../profile/exceptions.ts'
import { formatCount, formatMicroseconds, formatNumber, shorten, TreeViewer, toTarget } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { readServerAddress } from '../../record/recording-policy.ts'
import type { EditorLinks } from '../../web/editor-links.ts'
import { type ExceptionView, viewChain } from '../../web/exceptions.ts'
import { entryLimit, type PanelModel, type PanelProfile, type SubjectView } from '../../web/panels/subject-view.ts'
import { cutText, item, itemRowLimit, limitRows, row } from '../../web/toolbar/toolbar-items.ts'
import { deriveNotifications, isReportOf, type Notification, readLogs, type StoredLog, severityOf } from './read.ts'

/** The log messages. The panel also has the notifications of listeners, which follow from the event tree. */
export const logsView: SubjectView = {
  name: 'logger',
  label: 'Logs',
  template: 'profiler/panels/logger',
  hasContent: ({ profile }) => readLogs(profile).logs.length > 0,

  badge({ profile }) {
    const { errors, warnings } = profile.summary
    if (errors > 0) return { text: String(errors), level: 'error' }
    return warnings > 0 ? { text: String(warnings), level: 'warning' } : { text: '', level: 'plain' }
  },

  toView: (shown, { editor }) => toView(shown, editor),

  toMarkdown({ profile }, limit) {
    const { dropped, logs } = readLogs(profile)
    if (logs.length === 0) return []
    return [
      '## Logs',
      toList(logs, limit, writeLog),
      ...(dropped === 0 ? [] : [`${formatNumber(dropped)} log messages in the middle were not recorded.`]),
    ]
  },

  toItems({ editor, profile, summary }) {
    const { errors, warnings } = profile.summary
    if (errors + warnings === 0) return []
    const link = profileLink(summary.token, 'logger')
    const logs = readLogs(profile).logs.filter(({ level }) => severityOf(level) !== 'plain')
    const rows = logs.map(({ caller, index, level, message }) =>
      row(level, cutText(message), {
        link: `${link}#log-${index}`,
        tone: severityOf(level),
        place: editor.viewCaller(caller),
      }),
    )
    return [
      item('logger', 'Logs', {
        text: describeSevere(profile.summary),
        tone: errors > 0 ? 'error' : 'warning',
        link,
        rows: limitRows(rows, `${link}&level=warning`, errors + warnings - itemRowLimit),
      }),
    ]
  },

  toEntries: profile =>
    readLogs(profile)
      .logs.slice(0, entryLimit)
      .map(({ channel, index, level, message }) => {
        return { group: 'Log message', label: message, hint: `${level} ${channel}`, anchor: `log-${index}` }
      }),

  onErrorPage: {
    toView({ profile }, { editor }) {
      // The page begins with the exception.
      const logs = readLogs(profile).logs.filter(log => !isReportOf(log, findAnswered(profile)))
      return {
        logs: logs.slice(-shownLimit).map(log => ({
          ...log,
          offset: `+${formatMicroseconds(log.at)}`,
          place: editor.view({ ...log.caller, function: '' }),
        })),
        earlier: Math.max(0, logs.length - shownLimit),
      }
    },

    toMarkdown(profile) {
      const logs = readLogs(profile).logs.slice(-shownLimit)
      return logs.length === 0 ? [] : ['## Logs', toList(logs, shownLimit, writeLog)]
    },
  },
}

/** The last messages, which the error page shows. */
const shownLimit = 50

/** The errors and warnings of a request in words; empty without any. */
function describeSevere({ errors, warnings }: ProfileSummary): string {
  return [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
    .filter(Boolean)
    .join(', ')
}

async function toView({ findChildren, profile, query }: PanelProfile, editor: EditorLinks): Promise<PanelModel> {
  const { dropped } = readLogs(profile)
  const logs = await mergeLogs(profile, findChildren)
  const notifications = deriveNotifications(readEventTree(profile))
  const { parent, token } = profile.summary
  const filter = readLogFilter(query)
  const channels = [...new Set(logs.map(({ log }) => log.channel))].filter(Boolean).sort()
  const viewErrors: LogView['viewErrors'] = ({ log: { exceptions, index }, profile: of }) =>
    exceptions.flatMap(({ chain, name }) =>
      viewChain(chain, `log-${of.summary.token}-${index}-${name}`, readExcerpts(of), editor),
    )
  const view = { profile, editor, filter, viewErrors }
  const named = Number(query.get('find')?.replace('log-', '') ?? -1)
  const isNamed = ({ ids }: Line) => ids.includes(named)
  const all = [...toLogLines(logs, view), ...toEventLines(notifications, logs, view)].sort((a, b) => a.at - b.at)
  const group = all.find(
    line => line.group !== undefined && (isNamed(line) || String(line.group) === query.get('group')),
  )?.group
  const grouped = group === undefined ? all : toLogLines(logs, { ...view, group }).filter(line => line.group === group)
  const lines = grouped.filter(line => isListed(filter, line))
  const parametersOf = (change: Readonly<Record<string, string>>) =>
    Object.entries({ ...writeLogFilter(filter), group: String(group ?? ''), ...change }).filter(
      ([, value]) => value !== '',
    )
  const linkTo: LinkToLogs = change =>
    `${profileLink(token)}?${new URLSearchParams([['panel', 'logger'], ...parametersOf(change)])}#log`
  return {
    // Another server has no logger of this package.
    consoleLink: readServerAddress(profile) === undefined ? '' : profileLink(token, 'console'),
    action: profileLink(token),
    parent: parent ?? '',
    levels: toLevels(profile, logs, filter, linkTo),
    channels: channels.length < 2 ? [] : toChannels(channels, filter, linkTo),
    events: notifications.length > 0 && {
      label: formatCount(notifications.length, 'event notification'),
      link: linkTo({ events: filter.hasEvents ? '' : '1' }),
      isSelected: filter.hasEvents,
    },
    notified: filter.hasEvents ? [] : notifications.slice(0, notifiedLimit).map(viewNotification),
    text: filter.text,
    kept: parametersOf({ text: '' }).map(([name, value]) => ({ name, value })),
    hasLogs: logs.length > 0,
    dropped,
    hasLines: all.length > 0,
    lines,
    isGroup: group !== undefined,
    allLink: `${profileLink(token, 'logger')}#panel`,
    // A script filters the lines of the page: if there are more, the server filters.
    filterId: lines.some(({ more }) => more !== undefined) ? '' : 'logs',
  }
}

/** The number of messages of each level and above. The summary also counts the messages that were dropped. */
function toLevels(
  { summary }: Profile,
  logs: readonly MergedLog[],
  filter: LogFilter,
  linkTo: LinkToLogs,
): PanelModel[] {
  const counted = { error: summary.errors, warning: summary.errors + summary.warnings }
  return logLevels.map(level => {
    const kept = logs.filter(({ log }) => levelsUpTo(log.level).includes(level)).length
    const count = level === 'error' || level === 'warning' ? Math.max(kept, counted[level]) : kept
    return {
      label: level,
      count: String(count),
      link: linkTo({ level: level === 'debug' ? '' : level }),
      isSelected: level === filter.level,
    }
  })
}

function toChannels(channels: readonly string[], { channel }: LogFilter, linkTo: LinkToLogs): PanelModel[] {
  return ['', ...channels].map(name => ({
    label: name || 'all channels',
    link: linkTo({ channel: name }),
    isSelected: name === channel,
  }))
}

/** Links to the log with another filter. */
type LinkToLogs = (change: Readonly<Record<string, string>>) => string

function writeLog({ at, channel, context, exceptions, level, message, place }: StoredLog): string {
  const line = `+${formatMicroseconds(at)} ${level} ${toSpan(channel)} ${toSpan(message)}`
  return [
    place === '' ? line : `${line} at ${toSpan(place)}`,
    ...(Object.keys(context).length === 0 ? [] : [`  - context: ${toValueSpan(context)}`]),
    ...exceptions.flatMap(({ chain, name }) => chain.map(error => writeLogged(error, name))),
  ].join('\n')
}

/** An error of the context `name`: its class, message, properties, and the innermost frame of the application. */
function writeLogged({ frames, message, name: type, properties, relation }: StoredException, name: string): string {
  const frame = frames.find(({ origin }) => origin === 'application') ?? frames[0]
  const facts = [
    `${toSpan(name)}${relation === '' ? '' : `, ${relation}`}: ${toSpan(type)} ${toSpan(message)}`,
    ...(frame === undefined ? [] : [`at ${toSpan(toPlace(frame))}`]),
    ...properties.map(({ name, value }) => `${toSpan(name)}: ${toSpan(value)}`),
  ]
  return `  - ${facts.join('; ')}`
}

/** How lines are shown. */
interface LogView {
  /** The profile of the page. */
  readonly profile: Profile
  readonly editor: EditorLinks
  readonly filter: LogFilter
  /** The long group of which all messages are shown: the number of its first message. */
  readonly group?: number | undefined
  /** Creates the views of the errors in the context of a message. */
  readonly viewErrors: (log: MergedLog) => readonly ExceptionView[]
}

/** A line of the panel: one message, a group of messages, or notifications. */
export interface Line extends PanelModel {
  readonly at: number
  readonly level: LogLevel
  readonly channel: string
  readonly isEvent: boolean
  /** Whether the text of the filter is not in the line: a script shows it when the text changes. */
  readonly isHidden: boolean
  /** The numbers of the messages of the profile itself, which links name. */
  readonly ids: readonly number[]
  /** For a long group: the number of its first message among all messages. */
  readonly group?: number
  /** For a long group of which the first messages are shown: a link to all of them. */
  readonly more?: { readonly label: string; readonly link: string }
}

/** From so many messages of one template in a row, they are one line. */
const groupSize = 4

/** A longer group has a page of its own, on which it is several lines. Elsewhere it has its first messages. */
const groupLimit = 100

const groupStart = 10

/** Creates the lines of messages. Equal messages in a row, and many messages of one template in a row, are one line. */
function toLogLines(logs: readonly MergedLog[], view: LogView): Line[] {
  const lines: Line[] = []
  for (let index = 0; index < logs.length; ) {
    const run = logs.slice(index).findIndex(log => !isAlike(logs[index] as MergedLog, log))
    const group = logs.slice(index, run === -1 ? undefined : index + run)
    const equal = group.findIndex(log => !isRepeated(logs[index] as MergedLog, log))
    const isGroup = equal !== -1 && group.length >= groupSize
    const taken = isGroup ? group : equal === -1 ? group : group.slice(0, equal)
    const previous = logs[index - 1]?.at ?? 0
    if (!isGroup) lines.push(toLogLine(taken, previous, view))
    else lines.push(...toGroupLines(taken, index, previous, view))
    index += taken.length
  }
  return lines
}

function toGroupLines(logs: readonly MergedLog[], group: number, previous: number, view: LogView): Line[] {
  const times = `× ${logs.length}`
  if (logs.length <= groupLimit) return [toGroupLine(logs, times, previous, view)]
  if (view.group !== group) {
    const link = `${profileLink(view.profile.summary.token, 'logger')}&group=${group}#panel`
    const line = toGroupLine(logs, times, previous, view, groupStart)
    return [{ ...line, group, more: { label: `All ${logs.length} messages`, link } }]
  }
  const lines: Line[] = []
  for (let from = 0; from < logs.length; from += groupLimit) {
    const part = logs.slice(from, from + groupLimit)
    const range = `${times}, ${from + 1} … ${from + part.length}`
    lines.push({ ...toGroupLine(part, range, logs[from - 1]?.at ?? previous, view), group })
  }
  return lines
}

/** Whether two messages have the same template. Messages with errors, or with parts that were cut, are not grouped. */
function isAlike(first: MergedLog, { log, profile }: MergedLog): boolean {
  if (first.log === log) return true
  const { channel, exceptions, isCut, level, message, template } = first.log
  return (
    profile === first.profile &&
    log.level === level &&
    log.channel === channel &&
    (template === '' ? log.template === '' && log.message === message : log.template === template) &&
    exceptions.length + log.exceptions.length === 0 &&
    isCut === log.isCut
  )
}

function isRepeated(
  { log: { at, index, ...first } }: MergedLog,
  { log: { at: _, index: __, ...log } }: MergedLog,
): boolean {
  return isDeepStrictEqual(first, log)
}

const namesLimit = 80

/** The characters of a context of plain values that is one line of JSON, not a tree. */
const briefLimit = 100

/** Entries of the context of a message as a tree; the others are text. */
const contextLimit = 20

/** A longer message is folded: a line is one line. */
const foldLength = 200

function toLogLine([first, ...again]: readonly MergedLog[], previous: number, view: LogView): Line {
  const { at, log, profile } = first as MergedLog
  const { caller, channel, context: values, index, isCut, level, message, template } = log
  const names = Object.keys(values)
  const exceptions = view.viewErrors(first as MergedLog)
  const errors = exceptions.map(({ message, name }) => `${name} ${message}`)
  const place = view.editor.view(caller)
  const json = names.length === 0 ? '' : JSON.stringify(values)
  const isBrief = json.length <= briefLimit && !Object.values(values).some(value => typeof value === 'object')
  const text = [message, channel, level, template, json, place.place, place.call, ...errors].join(' ')
  const isOwn = profile === view.profile
  const line = toLine(at, previous, { level, channel, text, isEvent: false }, view)
  return {
    isLog: true,
    id: isOwn ? `log-${index}` : '',
    ids: isOwn ? [first as MergedLog, ...again].map(({ log }) => log.index) : [],
    parts: splitMessage(message, template),
    template,
    times: again.length === 0 ? '' : `${again.length + 1} times`,
    again: isOwn ? again.map(({ log }) => log.index) : [],
    values: isBrief ? json : '',
    context: json !== '' && !isBrief && !line.isHidden && new TreeViewer(contextLimit).viewJson(values, true),
    names: shorten(names.join(', '), namesLimit),
    exceptions,
    crumbs: [],
    isCut,
    hasMore: json !== '' || exceptions.length > 0 || isCut || message.length > foldLength,
    mark: markOf(profile, view),
    place,
    ...line,
  }
}

function toGroupLine(
  group: readonly MergedLog[],
  times: string,
  previous: number,
  view: LogView,
  shown: number = group.length,
): Line {
  const [{ at, log, profile }] = group as [MergedLog]
  const { caller, channel, level, template } = log
  const isOwn = profile === view.profile
  const items = group.slice(0, shown).map(({ at, log: { context, index, message, template } }, position) => {
    const parts = splitMessage(message, template)
    // Values that are in the message are not repeated.
    const others = Object.entries(context).filter(([name]) => !template.includes(`{${name}}`))
    const extra = others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others))
    const delta = `+${formatMicroseconds(at - (group[position - 1]?.at ?? previous))}`
    return { id: isOwn ? `log-${index}` : '', parts, extra, delta }
  })
  const text = [
    template,
    channel,
    level,
    ...group.map(({ log }) => `${log.message} ${JSON.stringify(log.context)}`),
  ].join(' ')
  return {
    isLog: true,
    ids: isOwn ? group.map(({ log }) => log.index) : [],
    parts: [{ text: template, isValue: false }],
    times,
    items,
    hasMore: true,
    mark: markOf(profile, view),
    place: view.editor.view(caller),
    ...toLine(at, previous, { level, channel, text, isEvent: false }, view),
  }
}

/** The sub-request of a message; `false` for a message of the request itself. */
function markOf({ summary: { controller, route, token, url } }: Profile, { profile }: LogView): object | false {
  if (token === profile.summary.token) return false
  return { name: controller ?? route ?? toTarget(url), link: profileLink(token, 'logger') }
}

/** Notifications below the log. A link shows all of them between its messages. */
const notifiedLimit = 100

function viewNotification({ at, message }: Notification) {
  return { offset: `+${formatMicroseconds(at)}`, message }
}

/** Creates the lines of notifications: those without a log message between them are one line. */
function toEventLines(notifications: readonly Notification[], logs: readonly MergedLog[], view: LogView): Line[] {
  const times = logs.map(({ at }) => at)
  const groups = groupBy(notifications, ({ at }) => times.filter(time => time <= at).length)
  return [...groups].map(([logged, group]) => {
    const messages = group.map(viewNotification)
    const text = messages.map(({ message }) => message).join(' ')
    const at = Math.min(...group.map(({ at }) => at))
    return {
      isLog: false,
      ids: [],
      title: formatCount(messages.length, 'event notification'),
      messages,
      ...toLine(at, times[logged - 1] ?? 0, { level: 'debug', channel: 'event', text, isEvent: true }, view),
    }
  })
}

function toLine(at: number, previous: number, found: FilteredLine, { filter, profile }: LogView) {
  const { channel, isEvent, level, text } = found
  const date = new Date(profile.summary.time + at / 1000)
  return {
    at,
    delta: `+${formatMicroseconds(at - previous)}`,
    offset: `+${formatMicroseconds(at)}`,
    iso: Number.isNaN(date.getTime()) ? '' : date.toISOString(),
    level,
    channel,
    isEvent,
    isHidden: !hasWords(filter.text, text),
  }
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
function readLogFilter(query: URLSearchParams): LogFilter {
  return {
    level: logLevels.find(level => level === query.get('level')) ?? 'debug',
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
  }
}

/** Writes a filter as the parameters of an address; those that filter nothing are empty. */
function writeLogFilter({ channel, hasEvents, level, text }: LogFilter): Readonly<Record<string, string>> {
  return { level: level === 'debug' ? '' : level, channel, text, events: hasEvents ? '1' : '' }
}

/** Whether a line has the level, the channel and the kind of the filter. */
function isListed(filter: LogFilter, line: Pick<Line, 'channel' | 'isEvent' | 'level'>): boolean {
  return (
    levelsUpTo(line.level).includes(filter.level) &&
    (filter.channel === '' || line.channel === filter.channel) &&
    (filter.hasEvents || !line.isEvent)
  )
}

/** Whether a line has all words. The script of the page filters by the same rule, without a request. */
function hasWords(words: string, line: string): boolean {
  const text = line.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

/** The levels for which a message of this level is shown, when they are the lowest level of the filter. */
function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}

/** A log message of a request or of one of its sub-requests. */
interface MergedLog {
  readonly log: StoredLog
  /** The profile that has the message. */
  readonly profile: Profile
  /** Microseconds since the main request began. */
  readonly at: number
}

/** The most profiles of sub-requests whose messages are read. */
const profileLimit = 50

/** The log messages of a request and of its stored sub-requests, of all levels, in the order of time. */
async function mergeLogs(profile: Profile, findChildren: PanelProfile['findChildren']): Promise<MergedLog[]> {
  const merged: MergedLog[] = []
  const known = new Set<string>()
  const add = async (of: Profile, begin: number): Promise<void> => {
    known.add(of.summary.token)
    merged.push(...readLogs(of).logs.map(log => ({ log, profile: of, at: begin + log.at })))
    if (of.children.length === 0) return
    const starts = new Map(
      readEventTree(of).nodes.flatMap(({ kind, name, start }) => (kind === 'request' ? [[name, start]] : [])),
    )
    for (const child of await findChildren(of)) {
      const start = starts.get(child.summary.token)
      if (start !== undefined && !known.has(child.summary.token) && known.size < profileLimit)
        await add(child, begin + start)
    }
  }
  await add(profile, 0)
  return merged.sort((a, b) => a.at - b.at)
}
