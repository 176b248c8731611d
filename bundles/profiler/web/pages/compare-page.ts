import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { CallerPlace } from '../../../../lib/stack/callers.ts'
import { compareFindings } from '../../insight/compare/compare-findings.ts'
import {
  type Comparison,
  compareProfiles,
  type ExceptionUse,
  nameOfField,
  neverCompared,
  type Timing,
} from '../../insight/compare/comparison.ts'
import type { Compared, DifferenceKind } from '../../insight/compare/differences.ts'
import { judgeComparison, listOwnFields } from '../../insight/compare/judge-comparison.ts'
import { findPredecessors, likenessOf } from '../../insight/relatives.ts'
import { findRestart } from '../../insight/since-edit.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import type { EditorLinks, PlaceView } from '../../panels/editor-links.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatDuration, formatMicroseconds, formatTime } from '../../profile/format.ts'
import { compareLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { readOriginal } from '../../record/recording-policy.ts'
import { readLimit } from '../../store/profile-storage.ts'
import { keyOfListener, type ListenerUse, summarizeListeners } from '../../subjects/events/read.ts'
import { patternOf, readCalls } from '../../subjects/http/read.ts'
import type { LogUse } from '../../subjects/logs/read.ts'
import type { QueryUse } from '../../subjects/queries/read.ts'
import { cutValue, ofProgram, type ProfilerApplication, redirect, renderPage } from '../page.ts'
import { toReplayButton } from './render-panel.ts'

/**
 * Renders two profiles side by side: `a` and `b`, or two that were selected in the list (`record`,
 * twice). Without `a`, the first one is the previous profile of the same request.
 */
export async function renderCompare(
  request: Request,
  app: Pick<
    ProfilerApplication,
    'assets' | 'directory' | 'editor' | 'inspector' | 'profiler' | 'programs' | 'storage' | 'view'
  >,
): Promise<Response> {
  const { inspector, profiler, storage } = app
  const explain = (title: string, lead: string, status: number) =>
    renderPage('profiler/compare-none', { title, lead }, request, app, status)
  const [a, b] = readTokens(request.query)
  if (b === '') return explain('Two profiles are required', 'Select two profiles in the list, then compare them.', 400)

  await Promise.all([a, b].map(token => profiler.whenStored(token)))
  const [first, second] = await Promise.all([a, b].map(token => storage.find(token)))
  const missing = [first ?? a, second ?? b].filter(token => typeof token === 'string' && token !== '')
  if (second === undefined || missing.length > 0) {
    const names = [...new Set(missing)].map(token => `"${token}"`).join(' and ')
    return explain(
      names.includes(' and ') ? 'Profiles not found' : 'Profile not found',
      `No profile ${names}: expired, deleted, or never stored.`,
      404,
    )
  }
  const { summary } = second.profile
  const { summaries } = await storage.search({ limit: readLimit })
  const { candidates, previous, spread } = findPredecessors(summaries, summary)
  if (first === undefined) {
    if (previous !== undefined) return redirect(compareLink(previous.token, b))
    return explain('No profile to compare with', `There is no earlier profile of the same request before "${b}".`, 404)
  }
  const comparison = compareProfiles(first.profile, second.profile, spread)
  const { editor } = ofProgram(app, second.profile.summary)
  const findings = await compareFindings(first.profile, second.profile, await inspector(), storage)
  const view = toCompareView(first.profile, second.profile, { comparison, findings }, editor)
  const replay = view.isReplay && toReplayButton(first.profile)
  const others = candidates
    .filter(({ token }) => token !== first.profile.summary.token)
    .map(other => ({
      ...toSummaryView(other),
      likeness: likenessOf(other, summary),
      compareLink: compareLink(other.token, summary.token),
    }))
  const likeness = likenessOf(first.profile.summary, summary)
  return renderPage('profiler/compare', { ...view, likeness, others, replay }, request, app)
}

/** Of two selected profiles, the list has the newer one first. */
function readTokens(query: URLSearchParams): [a: string, b: string] {
  const [newer = '', older = '', ...more] = query.getAll('record')
  if (newer !== '' || more.length > 0) return more.length > 0 || older === '' ? ['', ''] : [older, newer]
  return [query.get('a')?.trim() ?? '', query.get('b')?.trim() ?? '']
}

/**
 * Creates the view of two profiles: each part shows its differences first, and folds equal values.
 * With an `editor`, rows have their places in the code.
 */
export function toCompareView(
  first: Profile,
  second: Profile,
  { comparison, findings }: { readonly comparison: Comparison; readonly findings: readonly Compared<string>[] },
  editor?: EditorLinks,
) {
  const { timings } = comparison
  const places = createComparePlaces([first, second], editor)
  const parts = [
    viewTimings(timings),
    viewPart('summary', 'Summary', listOwnFields(comparison), {
      ...viewField,
      place: (name, key) => key === 'controller' && places.ofController(name),
    }),
    viewPart('findings', 'Findings', findings, viewText),
    viewPart('queries', 'Queries', comparison.queries, {
      ...viewQuery,
      place: ({ caller }) => places.ofCaller(caller),
    }),
    viewPart('exceptions', 'Exceptions', comparison.exceptions, viewException),
    viewPart('responseHeaders', 'Response headers', comparison.responseHeaders, viewValues),
    viewPart('negotiatedHeaders', 'Response headers of other requests', comparison.negotiatedHeaders, viewValues),
    viewPart('responseBody', 'Response body', comparison.responseBody, viewText),
    viewPart('requestHeaders', 'Request headers', comparison.requestHeaders, viewValues),
    viewPart('requestBody', 'Request body', comparison.requestBody, viewText),
    viewPart('query', 'GET parameters', comparison.query, viewValues),
    viewPart('parameters', 'Route parameters', comparison.parameters, viewValues),
    viewPart('attributes', 'Request attributes', comparison.attributes, viewValues),
    viewPart('listeners', 'Listeners', comparison.listeners, {
      ...viewListener,
      place: places.ofListener,
    }),
    viewPart('functions', 'Functions', comparison.functions, { ...viewListener, note: ({ event }) => event }),
    viewPart('templates', 'Templates', comparison.templates, {
      ...viewTimes('rendered'),
      place: (_, name) => places.ofTemplate(name),
    }),
    viewPart('calls', 'HTTP client calls', comparison.calls, {
      ...viewValues,
      place: (_, pattern) => places.ofCall(pattern),
    }),
    viewPart('logs', 'Logs', comparison.logs, { ...viewLog, place: ({ caller }) => places.ofCaller(caller) }),
  ]
  const isReplay = readOriginal(second) === first.summary.token
  const restart = findRestart(first, second)
  const verdict = judgeComparison(comparison)
  return {
    headline: verdict.isSame ? verdict.title : `${writeHeadline([first, second], timings)}; ${verdict.title}`,
    title: `${first.summary.token} and ${second.summary.token} compared`,
    heading: isReplay ? 'Replay compared with its original' : 'Two profiles compared',
    verdict,
    // The total time alone is no error.
    tone: !verdict.isSame ? 'changed' : timings[0]?.change === 'same' ? 'same' : 'timed',
    records: [
      { name: 'A', role: isReplay ? 'original' : '', ...toSummaryView(first.summary) },
      { name: 'B', role: isReplay ? 'replay' : '', ...toSummaryView(second.summary) },
    ],
    isReplay,
    restart: restart !== undefined && viewRestart(restart),
    swapLink: compareLink(second.summary.token, first.summary.token),
    leftOut: neverCompared.join(', '),
    parts: parts
      .filter(({ rows, rest }) => rows.length + rest.length > 0)
      .map(part => ({ ...part, differentId: `${part.id}-different`, equalId: `${part.id}-equal` })),
  }
}

/** What matters most: how both have ended, the difference of their queries, and a time that is unusual. */
function writeHeadline([first, second]: readonly [Profile, Profile], [total]: Comparison['timings']): string {
  const [before, after] = [first.summary, second.summary]
  const [old, current] = [before, after].map(summary => toSummaryView(summary).statusText)
  const more = after.queries - before.queries
  const later = after.duration - before.duration
  return [
    old === current ? `Both ${current}` : `${old} → ${current}`,
    ...(more === 0 ? [] : [`${formatCount(Math.abs(more), 'query', 'queries')} ${more > 0 ? 'more' : 'fewer'}`]),
    ...(total?.change === 'same' ? [] : [`${formatDuration(Math.abs(later))} ${later > 0 ? 'slower' : 'faster'}`]),
  ].join(', ')
}

const fileLimit = 5

function viewRestart({ changed, time }: { readonly changed: readonly string[]; readonly time: number }) {
  const more = changed.length > fileLimit ? formatCount(changed.length - fileLimit, 'more file') : ''
  return { time: formatTime(time), changed: changed.slice(0, fileLimit), more }
}

type Place = PlaceView | false

/** A row of a part: a name, and its values in both profiles. */
interface Row {
  readonly name: string
  /** A remark below the name. */
  readonly note: string
  /** Its place in the code. */
  readonly place: Place
  readonly first: string
  readonly second: string
  readonly change: DifferenceKind
  /** The name of the change; empty when both values are shown. */
  readonly label: string
  readonly delta: Delta | false
}

interface Part {
  readonly id: string
  readonly title: string
  readonly hasDeltas: boolean
  /** `3 differences`, or empty. */
  readonly count: string
  readonly rows: readonly Row[]
  readonly rest: readonly Row[]
  readonly restTitle: string
}

const labels: Readonly<Record<DifferenceKind, string>> = {
  same: '',
  changed: '',
  onlyFirst: 'only in A',
  onlySecond: 'only in B',
}

/** Characters of a compared value that are shown. Its profile has the whole value. */
const textLimit = 2000

function toRow<value>({ change, first, key, second }: Compared<value>, view: View<value>): Row {
  // At least one of the two values exists.
  const any = (second ?? first) as value
  const text = (value: value | undefined) => (value === undefined ? '' : cutValue(view.text(value), textLimit))
  return {
    name: cutValue(view.name?.(any, key) ?? key),
    note: view.note?.(any) ?? '',
    place: view.place?.(any, key) ?? false,
    first: text(first),
    second: text(second),
    change,
    label: labels[change],
    delta: false,
  }
}

/** The texts of the values of a part. */
interface View<value> {
  /** The default is its key. */
  readonly name?: (value: value, key: string) => string
  readonly note?: (value: value) => string
  readonly place?: (value: value, key: string) => Place
  readonly text: (value: value) => string
}

function viewPart<value>(
  part: keyof Comparison | 'findings',
  title: string,
  compared: readonly Compared<value>[],
  view: View<value>,
): Part {
  const all = compared.map(each => toRow(each, view))
  const [rows, rest] = [all.filter(({ change }) => change !== 'same'), all.filter(({ change }) => change === 'same')]
  const count = rows.length === 0 ? '' : formatCount(rows.length, 'difference')
  return {
    id: `part-${part}`,
    title,
    hasDeltas: false,
    count,
    rows,
    rest,
    restTitle: `${rest.length.toLocaleString('en')} equal`,
  }
}

const viewField: View<string | number> = { name: (_, key) => nameOfField(key), text: String }
const viewValues: View<readonly string[]> = { text: values => values.join('\n') }
const viewText: View<string> = { text: text => text }

/** The view of a number of times, such as `rendered 3 times`. */
function viewTimes(done: string): View<number> {
  return { text: times => (times === 1 ? done : `${done} ${times} times`) }
}

const viewException: View<ExceptionUse> = {
  name: ({ text }) => text,
  text: ({ times }) => viewTimes('thrown').text(times),
}

const viewListener: View<ListenerUse> = {
  name: ({ name }) => name,
  note: ({ event, priority }) => `${event}, priority ${priority}`,
  text({ calls, changes, duration, hasThrown, isStopped }) {
    const facts = [
      `called${calls === 1 ? '' : ` ${calls} times`}, ${formatMicroseconds(duration)}`,
      ...(hasThrown ? ['threw'] : []),
      ...(isStopped ? ['stopped propagation'] : []),
      ...changes,
    ]
    return facts.join('\n')
  },
}

const viewLog: View<LogUse> = {
  name: ({ message }) => message,
  note: ({ channel, level }) => `${level}, ${channel}`,
  text: ({ times }) => viewTimes('logged').text(times),
}

const viewQuery: View<QueryUse> = {
  name: ({ text }) => text,
  note: ({ system }) => system,
  text: ({ duration, times }) => `${formatCount(times, 'query', 'queries')}\n${formatDuration(duration)}`,
}

/** The total time comes first, then the greatest differences. Usual differences are folded. */
function viewTimings(timings: readonly Compared<Timing>[]): Part {
  const differences = timings.map(({ first, second }) => Math.abs(durationOf(second) - durationOf(first)))
  const greatest = Math.max(0, ...differences)
  const all = timings.map(timing => {
    const difference = durationOf(timing.second) - durationOf(timing.first)
    const { kind, times } = (timing.second ?? timing.first) as Timing
    const note = kind === 'main' || times === 1 ? '' : `${times} times`
    const row = toRow(timing, { name: ({ name }) => name, text: ({ duration }) => formatMicroseconds(duration) })
    return { row: { ...row, note, delta: toDelta(timing, greatest) }, kind, difference: Math.abs(difference) }
  })
  const main = all.filter(({ kind }) => kind === 'main')
  const others = all.filter(({ kind }) => kind !== 'main').sort((a, b) => b.difference - a.difference)
  const sorted = [...main, ...others]
  // The total time is the first row.
  const isNoticed = ({ row }: { readonly row: Row }, index: number) => index === 0 || row.change !== 'same'
  const rest = sorted.filter((each, index) => !isNoticed(each, index))
  return {
    id: 'part-timings',
    title: 'Timings',
    hasDeltas: true,
    count: '',
    rows: sorted.filter(isNoticed).map(({ row }) => row),
    rest: rest.map(({ row }) => row),
    restTitle: `${rest.length.toLocaleString('en')} within the usual range`,
  }
}

function durationOf(timing: Timing | undefined): number {
  return timing?.duration ?? 0
}

/** The difference of two times. */
export type Delta = ReturnType<typeof toDelta>

/** The bars have one scale, from -100 to 100: the `greatest` difference of all times is 100. */
function toDelta(timing: Compared<Timing>, greatest: number) {
  const [first, second] = [durationOf(timing.first), durationOf(timing.second)]
  const difference = second - first
  const sign = difference > 0 ? '+' : difference < 0 ? '−' : '±'
  const width = greatest === 0 ? 0 : (100 * Math.abs(difference)) / greatest
  return {
    text: `${sign}${formatMicroseconds(Math.abs(difference))}`,
    share: writeRatio(first, second),
    tone: difference > 0 ? 'slower' : 'faster',
    bar:
      timing.change === 'same' ? undefined : { x: (difference > 0 ? 0 : -width).toFixed(1), width: width.toFixed(1) },
  }
}

/** A time from which a percentage says less than a factor. */
const leastFactor = 3

/** Writes how a time has changed: `+12 %`, `−30 %`, `×5.4`. Empty without a first time. */
export function writeRatio(first: number, second: number): string {
  if (first === 0) return ''
  const ratio = second / first
  if (ratio >= leastFactor) return `×${ratio.toFixed(ratio < 9.95 ? 1 : 0)}`
  const percent = Math.round(100 * (ratio - 1))
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${Math.abs(percent)} %`
}

/** Creates the functions that find places in the code of two profiles. Without an editor, they find none. */
function createComparePlaces(profiles: readonly Profile[], editor: EditorLinks | undefined) {
  const sites = new Map(profiles.flatMap(each => [...summarizeListeners(readEventTree(each), each).sites]))
  const calls = profiles.flatMap(profile => readCalls(profile).calls)
  const callers = new Map(calls.map(call => [patternOf(call), call.caller]))
  const view = (place = '') => editor?.viewFile(place) ?? false
  const ofCaller = (caller: CallerPlace | undefined) => editor?.viewCaller(caller) ?? false
  return {
    ofCaller,
    ofController: (name: unknown) => view(editor?.findController(String(name))),
    ofListener: (use: ListenerUse) => view(sites.get(keyOfListener(use))),
    ofTemplate: (name: string) => view(editor?.findTemplate(name)),
    /** Of HTTP client calls, by their method and URL without values. */
    ofCall: (pattern: string) => ofCaller(callers.get(pattern)),
  }
}
