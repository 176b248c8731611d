import { toList, toSpan, writeCaller, writeRest } from '../export/markdown-text.ts'
import { linkToPlace } from '../insight/findings/finding.ts'
import { toPlainText } from '../insight/overview/sentence.ts'
import type { TimePart } from '../insight/overview/time-parts.ts'
import { describeDuration, toSummaryView } from '../insight/summary-view.ts'
import { type Category, createRequestSpans } from '../insight/timeline/request-spans.ts'
import { findSite, readEventTree, readHandledTime } from '../profile/event-tree.ts'
import {
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatNumber,
  formatPlace,
  type Row,
  toOption,
} from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import { type Profile, summaryCounts } from '../profile/profile.ts'
import {
  joinPeriods,
  type Period,
  readStops,
  subtractPeriods,
  totalOf,
  type WorkKind,
  withParts,
  workFields,
  workTime,
} from '../profile/work.ts'
import { listUsage, readPauses } from '../subjects/memory/read.ts'
import { nameAsyncCall, readAsyncCalls, readStopwatch, type StoredAsyncCall } from '../subjects/time/read.ts'
import { awaitedWork, workKinds } from '../subjects/work.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'
import type { PanelModel, PanelProfile, SubjectView } from './subject-view.ts'
import {
  createTimeline,
  createTimelineAxis,
  createTimelineRows,
  readFilter,
  type TimelineRow,
  thresholds,
} from './timeline.ts'
import { cutText, item, limitRows, row, type ToolbarItem, type ToolbarProfile } from './toolbar-items.ts'
import { trailLink, viewTrail } from './trail.ts'

/** What took how long, and when: of a request, its sub-requests, and the work after the response. */
export const timeView: SubjectView = {
  name: 'time',
  label: 'Performance',
  template: 'profiler/panels/time',
  stored: ['time', 'events'],
  hasContent: () => true,
  toView: (shown, { editor }) => toView(shown, editor),

  toMarkdown({ profile }, limit) {
    const { measured } = readStopwatch(profile)
    const list = toList(measured, limit, ({ category, duration, name, periods }) => {
      const often = periods.length > 1 ? `, ${periods.length} times` : ''
      return `${toSpan(name)} (${toSpan(category)}) ${formatMicroseconds(duration)}${often}`
    })
    const { calls, more } = readAsyncCalls(profile)
    return [
      ...(measured.length === 0 ? [] : ['## Stopwatch', list]),
      ...(calls.length === 0 ? [] : ['## Asynchronous calls', toList(calls, limit, writeAsyncCall)]),
      ...writeRest(more.ended),
    ]
  },

  toItems: shown => [toTimeItem(shown), ...toSubRequestItem(shown)],
}

async function toView(
  { findChildren, parent, profile, query }: PanelProfile,
  editor: EditorLinks,
): Promise<PanelModel> {
  const { token } = profile.summary
  const { logs, profiles, root } = await createRequestSpans(profile, findChildren)
  const rows = createTimelineRows(root)
  const axis = createTimelineAxis(rows, findEnd(rows, readHandledTime(profile) * 1000))
  const filter = readFilter(query, axis)
  const run = createRunPeriods(profile)
  const timeline = createTimeline({ rows, logs, pauses: readPauses(profile), axis, filter })
  const findPlace = createRowPlaces(profiles, editor)
  return {
    metrics: createMetrics(profile, rows, run),
    parent: parent === undefined ? null : { token: parent.token, duration: toDuration(parent.duration) },
    timeline: {
      ...timeline,
      slowest: timeline.slowest.map(row => ({ ...row, place: findPlace(rows[row.index]?.link ?? '') })),
    },
    action: profileLink(token),
    allLink: `${profileLink(token, 'time')}&rows=all&threshold=0`,
    wholeLink: `${profileLink(token, 'time')}${[...query].map(toParameter).join('')}`,
    hasAll: filter.hasAll,
    fitting: `${readFilter(new URLSearchParams(), axis).threshold / 1000}`,
    thresholds: thresholds.map(value => toOption(value, `${value} ms`, filter.chosen)),
    trail: query.get('view') === 'trail' && viewTrail(profile, editor),
    trailLink: trailLink(token),
    timelineLink: profileLink(token, 'time'),
    dropped: readStopwatch(profile).dropped,
    calls: readAsyncCalls(profile).calls.map(call => viewAsyncCall(call, editor)),
    moreCalls: readAsyncCalls(profile).more.ended,
  }
}

function viewAsyncCall(call: StoredAsyncCall, editor: EditorLinks) {
  const { caller, error, exit, index, start } = call
  const result = error ?? exit
  return {
    id: `async-${index}`,
    lead: formatDuration(start),
    text: nameAsyncCall(call),
    ...(result !== undefined && { mark: { text: result, tone: error === undefined ? 'warning' : 'error' } }),
    caller: editor.viewCaller(caller),
    facts: [{ text: formatDuration(workTime(call)) }],
    isPlain: true,
  }
}

function writeAsyncCall(call: StoredAsyncCall): string {
  const { error, exit } = call
  const result = error ?? exit
  const ending = result === undefined ? '' : ` (${toSpan(result)})`
  const where = call.caller.file === undefined ? '' : ` ${writeCaller(call.caller)}`
  return `${toSpan(nameAsyncCall(call))}${ending} ${formatDuration(workTime(call))}${where}`
}

/** A parameter of the page without the zoom. */
function toParameter([name, value]: readonly [string, string]): string {
  return ['threshold', 'show', 'rows'].includes(name) ? `&${new URLSearchParams([[name, value]])}` : ''
}

/** The response is sent when the kernel dispatches `kernel.terminate`; without that event, when it was handled. */
function findEnd(rows: readonly TimelineRow[], handled: number): number {
  const terminate = rows.find(({ depth, name }) => depth === 1 && name === 'kernel.terminate')
  return Math.max(handled, terminate?.start ?? handled)
}

/** The time of the request, and what the timeline does not say: how often, and how much of the process. */
function createMetrics(profile: Profile, rows: readonly TimelineRow[], run: RunPeriods): Row[] {
  const duration = describeDuration(profile.summary)
  const ready = toDuration(readHandledTime(profile))
  const own = withoutInner(rows, 'service')
  const outer = withoutInner(own, 'request')
  const of = (category: Category, among = own) => among.filter(row => row.category === category && row.depth > 0)
  // Queries of one statement are one row.
  const count = (found: readonly TimelineRow[]) => found.reduce((sum, { periods }) => sum + periods.length, 0)
  // Work has no row if it was only counted, or if the profile of its sub-request was not read.
  const counted = (name: string, category: Category, { more, panel }: Partial<WorkKind> = {}): Row[] => {
    const field = summaryCounts.find(each => each.panel === panel)?.field
    const within = workFields.find(each => each === field)
    const { ended = 0, periods = [] } = more?.(profile) ?? {}
    const direct = Math.max(count(of(category, outer)), (field && profile.summary[field]) ?? 0)
    const known = count(of(category)) + ended
    const all = Math.max(known, direct + ((within && profile.collectors.within?.[within]) ?? 0))
    const others = periods.map(({ end, start }) => ({ start: start * 1000, duration: (end - start) * 1000 }))
    const covered = joinPeriods([...of(category).flatMap(row => row.covered), ...others])
    const time = formatMicroseconds(totalOf(run(category, covered)))
    const remark = direct === all ? '' : ` (${formatNumber(direct)} direct)`
    const value = `${formatNumber(all)}${remark} in ${known < all ? 'at least ' : ''}${time}`
    // On a phone the rows of the timeline say it, if all have one.
    return all === 0 ? [] : [{ name, value, ...(count(of(category)) === all && { isMinor: true }) }]
  }
  return [
    // The head of the page has it.
    { name: 'Total execution time', value: duration, isMinor: true },
    ...(ready === duration ? [] : [{ name: 'Response ready', value: ready }]),
    ...awaitedWork.flatMap(kind => counted(kind.label, kind.category, kind)),
    ...counted('Other services', 'service'),
    ...counted('Sub-requests', 'request'),
    ...listUsage(profile),
  ]
}

/** Removes from the periods of a category those in which the process did not run, as its panel does. */
type RunPeriods = (category: Category, periods: readonly Period[]) => readonly Period[]

/** Work whose panel leaves out the stops of the process has no other time here. */
function createRunPeriods(profile: Profile): RunPeriods {
  const stops = readStops(profile).map(({ duration, start }) => ({ start: start * 1000, duration: duration * 1000 }))
  const stopped = new Set<Category>(
    awaitedWork
      .filter(({ list, more }) =>
        [...list(profile), ...(more?.(profile).periods ?? [])].some(({ stopped }) => stopped > 0),
      )
      .map(({ category }) => category),
  )
  return (category, periods) => (stopped.has(category) ? subtractPeriods(periods, stops) : periods)
}

/** The rows without those within the rows of a category. */
function withoutInner(rows: readonly TimelineRow[], inner: Category): readonly TimelineRow[] {
  let limit = Number.POSITIVE_INFINITY
  return rows.filter(({ category, depth }) => {
    if (depth > limit) return false
    limit = category === inner && depth > 0 ? depth : Number.POSITIVE_INFINITY
    return true
  })
}

function toDuration(milliseconds: number): string {
  return formatMicroseconds(milliseconds * 1000)
}

/**
 * Creates the function that finds the place in the code of a row, by the link of the row: where a
 * listener was registered or a controller is defined, the caller of a query or an HTTP client, the
 * file of a template, or the controller of a sub-request. `false` for other rows.
 */
function createRowPlaces(profiles: readonly Profile[], editor: EditorLinks): (link: string) => PlaceView | false {
  const places = new Map(profiles.flatMap(profile => listPlaces(profile, editor)))
  return link => editor.viewFile(places.get(link)?.() ?? '')
}

/** The link of a row, and what finds its place: only few rows are asked for it. */
type RowPlace = readonly [link: string, find: () => string]

function listPlaces(profile: Profile, editor: EditorLinks): RowPlace[] {
  const { token } = profile.summary
  const linkTo = (panel: string, id: string) => `${profileLink(token, panel)}#${id}`
  const tree = readEventTree(profile)
  const definition = () => editor.findDefinition(profile.summary)
  return [
    [profileLink(token, 'time'), definition],
    [linkTo('events', 'controller'), definition],
    ...tree.nodes.map(
      (node): RowPlace => [linkTo('events', `span-${node.index}`), () => findSite(node, profile) ?? ''],
    ),
    ...workKinds.flatMap(({ list, panel }) =>
      list(profile)
        .flatMap(withParts)
        .map(
          ({ caller, id, template }): RowPlace => [
            linkTo(panel, id),
            () => (template === '' ? formatPlace(caller) : editor.findTemplate(template)),
          ],
        ),
    ),
  ]
}

/** Milliseconds: longer requests are slow, as in Symfony. */
const slow = 1000

/** The most parts of the time; others are shown together. */
const partLimit = 6

/** Creates the item that divides the time of a request among its parts. */
function toTimeItem({ overview: { parts, sentence }, profile, summary: { token } }: ToolbarProfile): ToolbarItem {
  const { duration } = profile.summary
  const shown = parts.slice(0, partLimit)
  const left = parts.slice(partLimit).reduce((sum, { time }) => sum + time, 0)
  return item(
    { name: 'time', label: 'Time' },
    {
      order: 90,
      text: formatDuration(duration),
      tone: duration > slow ? 'warning' : 'plain',
      link: profileLink(token, 'time'),
      lead: { text: toPlainText(sentence), link: profileLink(token, 'overview') },
      rows: [
        row('Total', formatDuration(duration)),
        ...shown.map(({ kind, label, place, time }) =>
          row(label, formatMicroseconds(time), { category: kind, link: linkToPlace(place, token) }),
        ),
        ...(left === 0 ? [] : [row('Other', formatMicroseconds(left), { category: 'unknown' })]),
      ],
      shares: toShares([...shown, { kind: 'unknown', time: left }]),
    },
  )
}

function toShares(parts: readonly Pick<TimePart, 'kind' | 'time'>[]): ToolbarItem['shares'] {
  const total = parts.reduce((sum, { time }) => sum + time, 0)
  let x = 0
  return parts
    .filter(({ time }) => time > 0)
    .map(({ kind, time }) => {
      const share = { category: kind, x, width: Math.round((time / total) * 1000) }
      x += share.width
      return share
    })
}

function toSubRequestItem({ children, editor, profile, summary }: ToolbarProfile): ToolbarItem[] {
  const tokens = profile.children
  if (tokens.length === 0) return []
  const describe = (token: string) => {
    const child = children.find(other => other.token === token)
    const view = child && toSummaryView(child)
    const value = view === undefined ? token : [view.controller || 'no controller', view.duration, token].join(' · ')
    return row(view?.status ?? '–', cutText(value), {
      link: profileLink(token),
      tone: view?.tone ?? 'plain',
      place: child !== undefined && editor.viewFile(editor.findDefinition(child)),
    })
  }
  const link = profileLink(summary.token, 'time')
  return [
    item(
      { name: 'sub-requests', label: 'Sub-requests' },
      {
        order: 140,
        text: formatCount(tokens.length, 'sub-request'),
        link,
        isMinor: true,
        rows: limitRows(tokens.map(describe), link),
      },
    ),
  ]
}
