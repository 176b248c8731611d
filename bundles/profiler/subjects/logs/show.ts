import { severityOf } from '../../../../lib/log/create-logger.ts'
import { type LogLevel, logLevels } from '../../../../lib/log/logger.ts'
import { choose, toList, toSpan, toValueSpan } from '../../export/markdown-text.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { viewChain } from '../../panels/exceptions.ts'
import { entryLimit, type PanelModel, type PanelProfile, type SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, itemRowLimit, limitRows, row } from '../../panels/toolbar-items.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { readExcerpts, type StoredException, toPlace } from '../../profile/exceptions.ts'
import { formatCount, formatMicroseconds, formatNumber, shorten, toOneLine } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { readServerAddress } from '../../record/recording-policy.ts'
import {
  type Line,
  type LogView,
  type MergedLog,
  mergeLogs,
  toEventLines,
  toLogLines,
  viewNotification,
} from './lines.ts'
import { deriveNotifications, rankOf, readLogs, type StoredLog } from './read.ts'

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
    const { logs } = readLogs(profile)
    if (logs.length === 0) return []
    const left = describeLeft(profile, toSpan)
    return [
      `## ${logsView.label}`,
      // The list counts those over the limit.
      toList(logs, limit, writeLog, rankOf),
      ...(left === '' ? [] : [left]),
    ]
  },

  toItems({ editor, profile, summary }) {
    const { errors, warnings } = profile.summary
    if (errors + warnings === 0) return []
    const link = profileLink(summary.token, 'logger')
    const logs = choose(
      readLogs(profile).logs.filter(({ level }) => severityOf(level) !== 'plain'),
      itemRowLimit,
      rankOf,
    )
    const rows = logs.map(({ caller, index, level, message }) =>
      row(level, cutText(message), {
        link: `${link}#log-${index}`,
        tone: severityOf(level),
        place: editor.viewCaller(caller),
      }),
    )
    return [
      item(logsView, {
        order: 40,
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
      const { logs } = readLogs(profile)
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
      return logs.length === 0 ? [] : [`## ${logsView.label}`, toList(logs, shownLimit, writeLog)]
    },
  },
}

/** The last messages, which the error page shows. */
const shownLimit = 50

/** Says how many messages were kept, and what the others were; empty if all were kept. */
function describeLeft(profile: Profile, quote: (message: string) => string): string {
  const { dropped, left, logs } = readLogs(profile)
  if (dropped === 0) return ''
  const named = left.filter(({ message }) => message !== '').sort((one, other) => other.times - one.times)
  const most = named.slice(0, leftLimit).map(({ level, message, times }) => {
    return `${formatNumber(times)} × ${level} ${quote(shorten(toOneLine(message), leftLength))}`
  })
  const rest = dropped - named.slice(0, leftLimit).reduce((sum, { times }) => sum + times, 0)
  const others = most.length > 0 && rest > 0 ? [`${formatNumber(rest)} others`] : []
  const counts = [...most, ...others].join(', ')
  const whole = formatNumber(logs.length + dropped)
  return `${formatNumber(logs.length)} of ${whole} log messages are here.${counts && ` Not recorded: ${counts}.`}`
}

/** The different messages that the sentence names, and characters of each. */
const leftLimit = 3
const leftLength = 60

/** The errors and warnings of a request in words; empty without any. */
function describeSevere({ errors, warnings }: Pick<ProfileSummary, 'errors' | 'warnings'>): string {
  return [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
    .filter(Boolean)
    .join(', ')
}

async function toView({ findChildren, profile, query }: PanelProfile, editor: EditorLinks): Promise<PanelModel> {
  const logs = await mergeLogs(profile, findChildren)
  const notifications = deriveNotifications(readEventTree(profile))
  const { parent, token } = profile.summary
  const filter = readLogFilter(query, logs)
  const counts = countLogs(profile, logs)
  const channels = [...new Set(logs.map(({ log }) => log.channel))].filter(Boolean).sort()
  const parametersOf = (change: Readonly<Record<string, string>>) =>
    Object.entries({ ...writeLogFilter(filter), ...change }).filter(([, value]) => value !== '')
  const linkTo: LinkToLogs = change =>
    `${profileLink(token)}?${new URLSearchParams([['panel', 'logger'], ...parametersOf(change)])}#log`
  const view: LogView = {
    profile,
    editor,
    words: filter.text,
    linkToGroup: group => linkTo({ group: String(group) }),
    viewErrors: ({ log: { exceptions, index }, profile: of }) =>
      exceptions.flatMap(({ chain, name }) =>
        viewChain(chain, `log-${of.summary.token}-${index}-${name}`, readExcerpts(of), editor),
      ),
  }
  const listed = logs.filter(({ log }) => isListed(filter, log))
  const named = Number(query.get('find')?.replace('log-', '') ?? -1)
  const isNamed = ({ ids }: Line) => ids.includes(named)
  const all = toLogLines(listed, view)
  const group = all.find(
    line => line.group !== undefined && (isNamed(line) || String(line.group) === query.get('group')),
  )?.group
  const events = filter.hasEvents ? toEventLines(notifications, logs, view).filter(line => isListed(filter, line)) : []
  const lines =
    group === undefined
      ? [...all, ...events].sort((a, b) => a.at - b.at)
      : toLogLines(listed, { ...view, group }).filter(line => line.group === group)
  const linkToAll = linkTo({ level: 'debug', channel: '', text: '' })
  return {
    // Another server has no logger of this package.
    consoleLink: readServerAddress(profile) === undefined ? '' : profileLink(token, 'console'),
    action: profileLink(token),
    parent: parent ?? '',
    levels: toLevels(counts, filter, linkTo),
    channels: channels.length < 2 ? [] : toChannels(channels, filter, linkTo),
    events: notifications.length > 0 && {
      label: formatCount(notifications.length, 'event notification'),
      link: linkTo({ events: filter.hasEvents ? '' : '1', level: 'debug' }),
      isSelected: filter.hasEvents,
    },
    notified: filter.hasEvents ? [] : notifications.slice(0, notifiedLimit).map(viewNotification),
    text: filter.text,
    kept: parametersOf({ group: String(group ?? ''), text: '' }).map(([name, value]) => ({ name, value })),
    hasLogs: logs.length > 0,
    left: describeLeft(profile, message => `“${message}”`),
    hasLines: logs.length + notifications.length > 0,
    lines,
    // A script asks for all messages if the address names one that is not here.
    isPartial: filter.isByDefault && filter.level !== 'debug',
    isGroup: group !== undefined,
    allLink: linkToAll,
    // A script filters the lines of the page: if there are more, the server filters.
    filterId: lines.some(({ more }) => more !== undefined) ? '' : 'logs',
  }
}

/** Notifications below the log. A link shows all of them between its messages. */
const notifiedLimit = 100

/** Counts messages. The summary also counts the messages that were dropped. */
function countLogs(profile: Profile, logs: readonly MergedLog[]) {
  const { errors, warnings } = profile.summary
  const countOf = (severity: string) => logs.filter(({ log }) => severityOf(log.level) === severity).length
  const severe = { errors: Math.max(errors, countOf('error')), warnings: Math.max(warnings, countOf('warning')) }
  const { dropped, left } = readLogs(profile)
  const leftOf = (level: LogLevel) =>
    left.reduce((sum, { level: of, times }) => sum + (levelsUpTo(of).includes(level) ? times : 0), 0)
  const isFrom = (level: LogLevel) =>
    logs.filter(({ log }) => levelsUpTo(log.level).includes(level)).length + leftOf(level)
  return {
    ...severe,
    all: Math.max(logs.length + dropped, severe.errors + severe.warnings),
    from: new Map(logLevels.map(level => [level, isFrom(level)])),
  }
}

const levelLabels: Readonly<Record<LogLevel, string>> = {
  debug: 'all',
  info: 'from info',
  warning: 'warnings and errors',
  error: 'errors',
  critical: 'critical',
}

/** Links to the messages from each level on. Of levels with the same messages, the highest has a link. */
function toLevels(
  { all, errors, from, warnings }: ReturnType<typeof countLogs>,
  filter: LogFilter,
  linkTo: LinkToLogs,
): PanelModel[] {
  const severe = { debug: all, info: 0, warning: errors + warnings, error: errors, critical: 0 }
  const countOf = (level: LogLevel) => Math.max(severe[level], from.get(level) ?? 0)
  return logLevels
    .filter((level, at) => {
      const [count, next] = [countOf(level), logLevels[at + 1]]
      return level === 'debug' || (count > 0 && count < all && (next === undefined || count > countOf(next)))
    })
    .map(level => ({
      label: levelLabels[level],
      tone: severityOf(level) === 'plain' ? '' : severityOf(level),
      count: formatNumber(countOf(level)),
      link: linkTo({ level }),
      isSelected: countOf(level) === countOf(filter.level),
    }))
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
  /** Whether the address has no filter. */
  readonly isByDefault: boolean
}

/** The parameters that choose messages. */
const parameters = ['level', 'channel', 'text', 'events', 'group', 'find']

/**
 * Reads the filter of an address: `?level=warning&channel=app&text=price&events=1`. Without a
 * filter, a log with warnings or errors shows these.
 */
function readLogFilter(query: URLSearchParams, logs: readonly MergedLog[]): LogFilter {
  const isByDefault = !parameters.some(name => query.get(name))
  const isSevere = logs.some(({ log }) => severityOf(log.level) !== 'plain')
  return {
    level: logLevels.find(level => level === query.get('level')) ?? (isByDefault && isSevere ? 'warning' : 'debug'),
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
    isByDefault,
  }
}

/** Writes a filter as the parameters of an address; those that filter nothing are empty. */
function writeLogFilter({ channel, hasEvents, level, text }: LogFilter): Readonly<Record<string, string>> {
  return { level, channel, text, events: hasEvents ? '1' : '' }
}

/** Whether a message or a line has the level and the channel of the filter. */
function isListed({ channel, level }: LogFilter, line: Pick<StoredLog, 'channel' | 'level'>): boolean {
  return levelsUpTo(line.level).includes(level) && (channel === '' || line.channel === channel)
}

/** The levels for which a message of this level is shown, when they are the lowest level of the filter. */
function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}
