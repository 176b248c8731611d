import { logLevels } from '../../../../lib/log/logger.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { readExcerpts } from '../../profile/exceptions.ts'
import { formatCount } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { deriveNotifications, readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import type { EditorLinks } from '../editor-links.ts'
import { viewChain } from './exception.ts'
import { type LogFilter, levelsUpTo, readLogFilter } from './logs/log-filter.ts'
import { type Line, type LogView, toEventLines, toLogLines } from './logs/log-lines.ts'
import { type MergedLog, mergeLogs } from './logs/merged-logs.ts'
import type { PanelModel, PanelSubject, ProfilePanel } from './panel.ts'

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
