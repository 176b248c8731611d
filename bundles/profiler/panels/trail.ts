import { severityOf } from '../../../lib/log/create-logger.ts'
import type { CallerPlace } from '../../../lib/stack/callers.ts'
import { readExceptions } from '../profile/exceptions.ts'
import { formatCount, formatDuration, formatNumber, shorten, toOneLine } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import { formatWorkTime } from '../profile/work.ts'
import { consoleLevels, writeValues } from '../subjects/console/read.ts'
import { isReportOf, readLogs } from '../subjects/logs/read.ts'
import { workKinds } from '../subjects/work.ts'
import type { EditorLinks } from './editor-links.ts'
import type { PanelModel } from './subject-view.ts'

/** A step of some work: a query, a call, a message, its failure, or another thing that has a place in time. */
interface Step {
  /** Milliseconds. */
  readonly at: number
  readonly kind: string
  readonly tone: 'plain' | 'warning' | 'error'
  readonly text: string
  /** The panel with its details, and its row there. */
  readonly panel: string
  readonly anchor: string
  readonly caller: CallerPlace | undefined
  /** Empty for what takes no time. */
  readonly time: string
}

/** Characters of a step. The panel of its kind has all of them. */
const textLimit = 200

/** The link to all steps: a view of Performance. */
export function trailLink(token: string): string {
  return `${profileLink(token, 'time')}&view=trail`
}

/** The view of what some work did, in the order of time; `false` if nothing of it was recorded. */
export function viewTrail(profile: Profile, editor: EditorLinks): PanelModel | false {
  const steps = listSteps(profile)
  if (steps.length === 0) return false
  const table = 'trail'
  return {
    title: 'Steps in order',
    left: '',
    sample: nameSample(profile),
    table,
    steps: viewSteps(table, steps, profile, editor),
  }
}

/**
 * The view of the last `limit` steps before an exception; if its time is not known, of all steps. `table` is the id of
 * the list: an exported page has two of them.
 */
export function viewTrailBefore(
  profile: Profile,
  editor: EditorLinks,
  { limit, table }: { readonly limit: number; readonly table: string },
): PanelModel | false {
  const [thrown] = readExceptions(profile)
  const time = profile.collectors.exception?.at
  const reports = readLogs(profile).logs.filter(log => isReportOf(log, thrown))
  const ids = new Set(reports.map(({ index }) => `log-${index}`))
  const isBefore = ({ anchor, at, panel }: Step) => panel !== 'exception' && !ids.has(anchor) && at <= (time ?? at)
  const before = listSteps(profile).filter(isBefore)
  if (before.length === 0) return false
  const left = before.length - limit
  return {
    title: time === undefined ? 'What it did' : 'What happened before',
    left: left > 0 ? formatCount(left, 'earlier step') : '',
    sample: nameSample(profile),
    link: trailLink(profile.summary.token),
    table,
    steps: viewSteps(table, before.slice(-limit), profile, editor),
  }
}

/** The kinds of steps of which only some were recorded: `500 of 5,000 queries`; empty if there are none. */
function nameSample(profile: Profile): string {
  const { dropped, logs } = readLogs(profile)
  const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
  const kinds = [
    ...workKinds.map(({ count, list, nouns: [, noun] }) => {
      const listed = list(profile).length
      return { listed, all: count?.(profile) ?? listed, noun }
    }),
    { listed: logs.length, all: logs.length + dropped, noun: 'log messages' },
    { listed: entries.length, all: entries.length + omitted, noun: 'console calls' },
  ]
  return kinds
    .filter(({ all, listed }) => listed < all)
    .map(({ all, listed, noun }) => `${formatNumber(listed)} of ${formatNumber(all)} ${noun}`)
    .join(', ')
}

function listSteps(profile: Profile): Step[] {
  const works = workKinds.flatMap(({ category, list, panel }) =>
    list(profile).map(work => ({
      at: work.start,
      kind: category,
      tone: work.hasFailed ? ('error' as const) : toneOfStatus(Number(work.note)),
      text: [work.text || work.name, work.note].filter(Boolean).join(' '),
      panel,
      anchor: work.id,
      caller: work.caller,
      time: formatWorkTime(work) || 'not finished',
    })),
  )
  const logs = readLogs(profile).logs.map(({ at, caller, index, level, message }) => ({
    ...{ at: at / 1000, kind: level, tone: severityOf(level), text: message, time: '' },
    ...{ panel: 'logger', anchor: `log-${index}`, caller },
  }))
  const prints = (profile.collectors.console?.entries ?? []).map(({ at, label = '', method, site, values }, index) => {
    const level = consoleLevels[method]
    return {
      ...{ at: at / 1000, kind: method, tone: level === 'info' ? ('plain' as const) : level, time: '' },
      ...{
        text: `${label} ${writeValues(values, method)}`.trim(),
        panel: 'console',
        anchor: `dump-${index}`,
        caller: site,
      },
    }
  })
  return [...works, ...logs, ...prints, ...listFailures(profile)].sort((one, other) => one.at - other.at)
}

/** The failure of the work, if its time is known. */
function listFailures(profile: Profile): Step[] {
  const [thrown] = readExceptions(profile)
  const { at } = profile.collectors.exception ?? {}
  if (thrown === undefined || at === undefined) return []
  const text = `${thrown.name}: ${thrown.message}`
  return [{ at, kind: 'exception', tone: 'error', text, panel: 'exception', anchor: '', caller: undefined, time: '' }]
}

/** The tone of a call by the status of its response; that of other work has none. */
function toneOfStatus(status: number): Step['tone'] {
  return status >= 500 ? 'error' : status >= 400 ? 'warning' : 'plain'
}

function viewSteps(table: string, steps: readonly Step[], { summary }: Profile, editor: EditorLinks): PanelModel[] {
  return steps.map(({ anchor, at, caller, kind, panel, text, time, tone }, index) => ({
    id: `${table}-${index}`,
    index,
    isPlain: true,
    lead: `+${formatDuration(at)}`,
    mark: { text: kind, tone },
    tone: tone === 'plain' ? '' : tone,
    text: shorten(toOneLine(text), textLimit),
    link: `${profileLink(summary.token, panel)}${anchor && `#${anchor}`}`,
    where: editor.nameCaller(caller),
    facts: [{ text: time }],
  }))
}
