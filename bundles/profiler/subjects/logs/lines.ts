import { isDeepStrictEqual } from 'node:util'
import { severityOf } from '../../../../lib/log/create-logger.ts'
import type { LogLevel } from '../../../../lib/log/logger.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import type { ExceptionView } from '../../panels/exceptions.ts'
import type { PanelModel, PanelProfile } from '../../panels/subject-view.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatMicroseconds, shorten, TreeViewer, toOneLine, toTarget } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { type Notification, notificationKind, readLogs, type StoredLog } from './read.ts'

/** A log message of a request or of one of its sub-requests. */
export interface MergedLog {
  readonly log: StoredLog
  /** The profile that has the message. */
  readonly profile: Profile
  /** Microseconds since the main request began. */
  readonly at: number
  /** Microseconds since the message before it. */
  readonly since: number
}

/** The most profiles of sub-requests whose messages are read. */
const profileLimit = 50

/** The log messages of a request and of its stored sub-requests, of all levels, in the order of time. */
export async function mergeLogs(profile: Profile, findChildren: PanelProfile['findChildren']): Promise<MergedLog[]> {
  const merged: Omit<MergedLog, 'since'>[] = []
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
  return merged
    .sort((a, b) => a.at - b.at)
    .map((log, index, all) => ({ ...log, since: log.at - (all[index - 1]?.at ?? 0) }))
}

/** How lines are shown. */
export interface LogView {
  /** The profile of the page. */
  readonly profile: Profile
  readonly editor: EditorLinks
  /** Words that a line must contain. */
  readonly words: string
  /** The long group of which all messages are shown: the number of its first message. */
  readonly group?: number | undefined
  /** The link to all messages of a long group. */
  readonly linkToGroup: (group: number) => string
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
export function toLogLines(logs: readonly MergedLog[], view: LogView): Line[] {
  const lines: Line[] = []
  for (let index = 0; index < logs.length; ) {
    const run = logs.slice(index).findIndex(log => !isAlike(logs[index] as MergedLog, log))
    const group = logs.slice(index, run === -1 ? undefined : index + run)
    const equal = group.findIndex(log => !isRepeated(logs[index] as MergedLog, log))
    const isGroup = equal !== -1 && group.length >= groupSize
    const taken = isGroup ? group : equal === -1 ? group : group.slice(0, equal)
    if (!isGroup) lines.push(toLogLine(taken, view))
    else lines.push(...toGroupLines(taken, index, view))
    index += taken.length
  }
  return lines
}

function toGroupLines(logs: readonly MergedLog[], group: number, view: LogView): Line[] {
  const times = `× ${logs.length}`
  if (logs.length <= groupLimit) return [toGroupLine(logs, times, view)]
  if (view.group !== group) {
    const line = toGroupLine(logs, times, view, groupStart)
    return [{ ...line, group, more: { label: `All ${logs.length} messages`, link: view.linkToGroup(group) } }]
  }
  const lines: Line[] = []
  for (let from = 0; from < logs.length; from += groupLimit) {
    const part = logs.slice(from, from + groupLimit)
    lines.push({ ...toGroupLine(part, `${times}, ${from + 1} … ${from + part.length}`, view), group })
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

/** The characters of a context of plain values that is one line of JSON, not a tree. */
const briefLimit = 100

/** Entries of the context of a message as a tree; the others are text. */
const contextLimit = 20

/** Characters of the context beside a message. Below the message is all of it. */
const extraLimit = 160

function toLogLine([first, ...again]: readonly MergedLog[], view: LogView): Line {
  const { log, profile } = first as MergedLog
  const { caller, channel, context: values, index, isCut, level, message, template } = log
  const exceptions = view.viewErrors(first as MergedLog)
  const errors = exceptions.map(({ message, name }) => `${name} ${message}`)
  const place = view.editor.view(caller)
  const json = Object.keys(values).length === 0 ? '' : JSON.stringify(values)
  const isBrief = json.length <= briefLimit && !Object.values(values).some(value => typeof value === 'object')
  const text = [message, channel, level, template, json, place.place, place.call, ...errors].join(' ')
  const isOwn = profile === view.profile
  const line = toLine(first as MergedLog, { level, channel, text, isEvent: false }, view)
  return {
    id: isOwn ? `log-${index}` : '',
    ids: isOwn ? [first as MergedLog, ...again].map(({ log }) => log.index) : [],
    parts: splitMessage(message, template),
    extra: shorten(toOneLine(describeExtra(log)), extraLimit),
    template,
    times: again.length === 0 ? '' : `${again.length + 1} times`,
    again: isOwn ? again.map(({ log }) => log.index) : [],
    values: isBrief ? json : '',
    context: json !== '' && !isBrief && !line.isHidden && new TreeViewer(contextLimit).viewJson(values, true),
    exceptions,
    crumbs: [],
    isCut,
    subRequest: subRequestOf(profile, view),
    where: view.editor.nameCaller(caller),
    place,
    ...line,
  }
}

/** What the message does not say of its context. */
function describeExtra({ context, exceptions, template }: StoredLog): string {
  const errors = exceptions.map(({ chain: [error], name }) => `${name}: ${error?.name} ${error?.message}`)
  const others = Object.entries(context).filter(([name]) => !template.includes(`{${name}}`))
  const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return [...errors, ...others.map(([name, value]) => `${name}: ${toText(value)}`)].join(', ')
}

function toGroupLine(group: readonly MergedLog[], times: string, view: LogView, shown: number = group.length): Line {
  const [first] = group as [MergedLog]
  const { log, profile } = first
  const { caller, channel, level, template } = log
  const isOwn = profile === view.profile
  const messages = group.map(({ log }) => splitMessage(log.message, log.template))
  const items = group.slice(0, shown).map(({ at, log }, position) => ({
    id: isOwn ? `log-${log.index}` : '',
    parts: messages[position],
    extra: describeExtra(log),
    offset: formatOffset(at),
  }))
  const text = [
    template,
    channel,
    level,
    ...group.map(({ log }) => `${log.message} ${JSON.stringify(log.context)}`),
  ].join(' ')
  return {
    ids: isOwn ? group.map(({ log }) => log.index) : [],
    parts: markVarying(messages),
    times,
    items,
    subRequest: subRequestOf(profile, view),
    where: view.editor.nameCaller(caller),
    place: view.editor.view(caller),
    ...toLine(first, { level, channel, text, isEvent: false }, view),
  }
}

/** The parts of the first message. Those are marked that another message has otherwise. */
function markVarying([first = [], ...others]: readonly (readonly MessagePart[])[]): PanelModel[] {
  return first.map(({ isValue, text }, at) => ({
    text,
    isValue,
    isVarying: isValue && others.some(parts => parts[at]?.text !== text),
  }))
}

/** The sub-request of a message; `false` for a message of the request itself. */
function subRequestOf({ summary: { controller, route, token, url } }: Profile, { profile }: LogView): object | false {
  if (token === profile.summary.token) return false
  return { name: controller ?? route ?? toTarget(url), link: profileLink(token, 'logger') }
}

/** Creates the view of a notification. */
export function viewNotification({ at, context, message }: Notification) {
  return { offset: formatOffset(at), message, level: notificationKind.level, context: JSON.stringify(context) }
}

/** Creates the lines of notifications: those without a log message between them are one line. */
export function toEventLines(
  notifications: readonly Notification[],
  logs: readonly MergedLog[],
  view: LogView,
): Line[] {
  const times = logs.map(({ at }) => at)
  const groups = groupBy(notifications, ({ at }) => times.filter(time => time <= at).length)
  return [...groups].map(([logged, group]) => {
    const messages = group.map(viewNotification)
    const text = messages.map(({ message }) => message).join(' ')
    const at = Math.min(...group.map(({ at }) => at))
    return {
      ids: [],
      title: formatCount(messages.length, 'event notification'),
      messages,
      ...toLine({ at, since: at - (times[logged - 1] ?? 0) }, { ...notificationKind, text, isEvent: true }, view),
    }
  })
}

/** The parts of a line that the filter looks at. */
interface FilteredLine {
  readonly level: LogLevel
  readonly channel: string
  readonly text: string
  readonly isEvent: boolean
}

function toLine(
  { at, since }: Pick<MergedLog, 'at' | 'since'>,
  { channel, isEvent, level, text }: FilteredLine,
  { profile, words }: LogView,
) {
  const date = new Date(profile.summary.time + at / 1000)
  const tone = severityOf(level)
  return {
    at,
    since: formatMicroseconds(since),
    lead: formatOffset(at),
    mark: { text: level, tone },
    tone: tone === 'plain' ? '' : tone,
    isShort: true,
    iso: Number.isNaN(date.getTime()) ? '' : date.toISOString(),
    level,
    channel,
    isEvent,
    isHidden: !hasWords(words, text),
  }
}

function formatOffset(at: number): string {
  return `+${formatMicroseconds(at)}`
}

/** Whether a line has all words. The script of the page filters by the same rule, without a request. */
function hasWords(words: string, line: string): boolean {
  const text = line.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

interface MessagePart {
  readonly text: string
  /** Whether it is the value of a placeholder. */
  readonly isValue: boolean
}

const placeholder = /\{[\w.-]+\}/g

/**
 * Splits a log message into its constant sentence and its values. If both do not match, because
 * one was cut, the message is one part. An empty template has no placeholders.
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
