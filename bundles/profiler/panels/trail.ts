import { severityOf } from '../../../lib/log/create-logger.ts'
import type { CallerPlace } from '../../../lib/stack/callers.ts'
import { readExceptions } from '../profile/exceptions.ts'
import { formatCount, formatDuration, formatNumber, formatPlace, shorten, toOneLine } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import { formatWorkTime, sumOfTimes, type Work } from '../profile/work.ts'
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
  /** The panel with its details, and its row there, with those of the equal steps that followed it. */
  readonly panel: string
  readonly anchors: readonly string[]
  readonly caller: CallerPlace | undefined
  /** Empty for what takes no time. */
  readonly works: readonly Work[]
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
 * The view of at most `limit` steps: of work that has thrown, or was not completed, the last ones before that; else
 * those that have failed and the longest. If the time of an exception is not known, all steps may be before it. `table`
 * is the id of the list: an exported page has two of them.
 */
export function viewTrailBefore(
  profile: Profile,
  editor: EditorLinks,
  { limit, table }: { readonly limit: number; readonly table: string },
) {
  const [thrown] = readExceptions(profile)
  const time = profile.collectors.exception?.at
  const reports = readLogs(profile).logs.filter(log => isReportOf(log, thrown))
  const ids = new Set(reports.map(({ index }) => `log-${index}`))
  const isBefore = ({ anchors: [anchor = ''], at, panel }: Step) =>
    panel !== 'exception' && !ids.has(anchor) && at <= (time ?? at)
  // What a framework says for debugging is no step of work that went well.
  const isOfWork = ({ kind }: Step) => thrown !== undefined || kind !== 'debug'
  const steps = joinEqual(listSteps(profile).filter(step => isBefore(step) && isOfWork(step)))
  if (steps.length === 0) return false
  const isCut = thrown !== undefined || profile.summary.outcome !== 'complete'
  const shown = isCut ? steps.slice(-limit) : chooseSteps(steps, limit)
  const left = countSteps(steps) - countSteps(shown)
  return {
    title: thrown === undefined || time === undefined ? 'What it did' : 'What happened before',
    left: left > 0 ? formatCount(left, isCut ? 'earlier step' : 'other step') : '',
    sample: nameSample(profile),
    link: trailLink(profile.summary.token),
    table,
    steps: viewSteps(table, shown, profile, editor),
    anchors: shown.flatMap(({ anchors }) => anchors),
  }
}

const tones = ['plain', 'warning', 'error'] as const

/** Those that have failed, and the longest, in the order of time. */
function chooseSteps(steps: readonly Step[], limit: number): readonly Step[] {
  const rank = ({ tone }: Step) => tones.indexOf(tone)
  const longest = steps.toSorted(
    (one, other) => rank(other) - rank(one) || sumOfTimes(other.works) - sumOfTimes(one.works),
  )
  const chosen = new Set(longest.slice(0, limit))
  return steps.filter(step => chosen.has(step))
}

function countSteps(steps: readonly Step[]): number {
  return steps.reduce((sum, { anchors }) => sum + anchors.length, 0)
}

/** Joins equal steps that follow one another, such as the queries of a loop. Work that is not over stays alone. */
function joinEqual(steps: readonly Step[]): readonly Step[] {
  const joined: Step[] = []
  for (const step of steps) {
    const last = joined.at(-1)
    if (last === undefined || keyOf(last) !== keyOf(step) || [last, step].some(isOpen)) joined.push(step)
    else {
      const [anchors, works] = [last.anchors.concat(step.anchors), last.works.concat(step.works)]
      joined.splice(-1, 1, { ...last, anchors, works })
    }
  }
  return joined
}

function keyOf({ caller = {}, kind, text, tone }: Step): string {
  return [kind, tone, text, formatPlace(caller)].join('\n')
}

function isOpen({ works }: Step): boolean {
  return works.some(({ end }) => end === undefined)
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
      anchors: [work.id],
      caller: work.caller,
      works: [work],
    })),
  )
  const logs = readLogs(profile).logs.map(({ at, caller, index, level, message }) => ({
    ...{ at: at / 1000, kind: level, tone: severityOf(level), text: message, works: [] },
    ...{ panel: 'logger', anchors: [`log-${index}`], caller },
  }))
  const prints = (profile.collectors.console?.entries ?? []).map(({ at, label = '', method, site, values }, index) => {
    const level = consoleLevels[method]
    return {
      ...{ at: at / 1000, kind: method, tone: level === 'info' ? ('plain' as const) : level, works: [] },
      ...{
        text: `${label} ${writeValues(values, method)}`.trim(),
        panel: 'console',
        anchors: [`dump-${index}`],
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
  const place = { panel: 'exception', anchors: [''], caller: undefined }
  return [{ at, kind: 'exception', tone: 'error', text, ...place, works: [] }]
}

/** The tone of a call by the status of its response; that of other work has none. */
function toneOfStatus(status: number): Step['tone'] {
  return status >= 500 ? 'error' : status >= 400 ? 'warning' : 'plain'
}

function viewSteps(table: string, steps: readonly Step[], { summary }: Profile, editor: EditorLinks): PanelModel[] {
  return steps.map(({ anchors: { 0: anchor, length }, at, caller, kind, panel, text, tone, works }, index) => ({
    id: `${table}-${index}`,
    index,
    isPlain: true,
    lead: `+${formatDuration(at)}`,
    mark: { text: kind, tone },
    tone: tone === 'plain' ? '' : tone,
    text: `${length > 1 ? `${formatNumber(length)} × ` : ''}${shorten(toOneLine(text), textLimit)}`,
    link: `${profileLink(summary.token, panel)}${anchor && `#${anchor}`}`,
    where: editor.nameCaller(caller),
    facts: [{ text: writeTime(works) }],
  }))
}

/** Writes the time of all the work of a step; empty for what takes no time. */
function writeTime(works: readonly Work[]): string {
  const [first, ...others] = works
  if (first === undefined) return ''
  return others.length > 0 ? formatDuration(sumOfTimes(works)) : formatWorkTime(first) || 'not finished'
}
