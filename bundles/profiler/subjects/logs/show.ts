import { logLevels } from '../../../../lib/log/logger.ts'
import { type Section, toList, toSpan, toValueSpan } from '../../export/markdown-text.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { readExcerpts, type StoredException, toPlace } from '../../profile/exceptions.ts'
import { formatCount, formatMicroseconds } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { EditorLinks } from '../../web/editor-links.ts'
import { viewChain } from '../../web/exceptions.ts'
import type { PanelModel, PanelSubject, ProfilePanel } from '../../web/panels/panel.ts'
import { cutText, item, itemRowLimit, limitRows, row, type ToolbarItem } from '../../web/toolbar/toolbar-items.ts'
import {
  type Line,
  type LogFilter,
  type LogView,
  levelsUpTo,
  type MergedLog,
  mergeLogs,
  readLogFilter,
  toEventLines,
  toLogLines,
} from './log-lines.ts'
import { deriveNotifications, readLogs, type StoredLog, severityOf } from './read.ts'

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

async function toView({ findChildren, profile, query }: PanelSubject, editor: EditorLinks): Promise<PanelModel> {
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
  const lines = group === undefined ? all : toLogLines(logs, { ...view, group }).filter(line => line.group === group)
  return {
    action: profileLink(token),
    parent: parent ?? '',
    levels: toLevels(profile, logs, filter),
    channels: channels.map(channel => ({ channel, isSelected: channel === filter.channel })),
    text: filter.text,
    events: notifications.length === 0 ? '' : formatCount(notifications.length, 'event notification'),
    hasEvents: filter.hasEvents,
    hasLogs: logs.length > 0,
    dropped,
    hasLines: lines.length > 0,
    lines,
    isGroup: group !== undefined,
    group,
    allLink: `${profileLink(token, 'logger')}#panel`,
    // A script filters the lines of the page: if there are more, the server filters.
    filterId: lines.some(({ more }) => more !== undefined) ? '' : 'logs',
  }
}

/** The number of messages of each level and above. The summary also counts the messages that were dropped. */
function toLevels({ summary }: Profile, logs: readonly MergedLog[], filter: LogFilter): PanelModel[] {
  const counted = { error: summary.errors, warning: summary.errors + summary.warnings }
  return logLevels.map(level => {
    const kept = logs.filter(({ log }) => levelsUpTo(log.level).includes(level)).length
    const count = level === 'error' || level === 'warning' ? Math.max(kept, counted[level]) : kept
    return { level, value: level === 'debug' ? '' : level, count, isSelected: level === filter.level }
  })
}

/** The log messages with their contexts. */
export const logsSection: Section = {
  panel: 'logger',
  write({ profile }, limit) {
    const { dropped, logs } = readLogs(profile)
    if (logs.length === 0) return []
    return [
      '## Logs',
      toList(logs, limit, writeLog),
      ...(dropped === 0 ? [] : [`${dropped.toLocaleString('en')} log messages in the middle were not recorded.`]),
    ]
  },
}

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

/** Creates the item of logged errors and warnings; `undefined` without any. */
export function toLogItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { errors, warnings } = profile.summary
  if (errors + warnings === 0) return undefined
  const link = profileLink(token, 'logger')
  const records = readLogs(profile)
    .logs.map(log => ({ tone: severityOf(log.level), ...log }))
    .filter(({ tone }) => tone !== 'plain')
  const counts = [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
  return item('logger', 'Logs', {
    text: counts.filter(Boolean).join(', '),
    tone: errors > 0 ? 'error' : 'warning',
    link,
    rows: limitRows(
      records.map(({ caller, index, level, message, tone }) =>
        row(level, cutText(message), { link: `${link}#log-${index}`, tone, place: editor.viewCaller(caller) }),
      ),
      `${link}&level=warning`,
      errors + warnings - itemRowLimit,
    ),
  })
}
