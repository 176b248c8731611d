import {
  capitalize,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  readHeader,
  shorten,
} from '../profile/format.ts'
import { groupBy } from '../profile/group-by.ts'
import { type Profile, type ProfileSummary, type SummaryCount, summaryCounts } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { FileEdit } from '../subjects/config/data.ts'
import { readResponseHeaders } from './compare/comparison.ts'
import { type ComparedTimes, compareTimes } from './durations.ts'
import type { Finding } from './findings/finding.ts'
import {
  describeAmounts,
  type FixVerdict,
  hasFinding,
  isFailure,
  isFixed,
  isTimed,
  type Judge,
  judgeFix,
  listFlaws,
  timedCount,
  type Versions,
} from './replay/judge-fix.ts'
import type { Tone } from './summary-view.ts'

/** What has changed for a request since the last edit of files. */
export interface SinceEdit {
  /** The files that were edited between the last similar request before and this one, the latest first. */
  readonly files: readonly string[]
  /** When the last edit came into use, in milliseconds since 1970. */
  readonly time: number
  /** Whether the requests before the edit had the same URL; otherwise they had the same route. */
  readonly isSameUrl: boolean
  /** The last similar request before the edit. */
  readonly before: ProfileSummary
  readonly times: ComparedTimes
  /** The most important first. Without the time. */
  readonly changes: readonly EditChange[]
}

/** The services that read the requests before an edit. */
interface SinceEditServices {
  readonly storage: Pick<ProfileStorage, 'find'>
  readonly judge: Judge
}

/**
 * Compares a request with similar requests before the last edit of files; `undefined` without an edit, or without such a
 * request. `earlier` are the similar requests before it, the newest first.
 */
export async function findSinceEdit(
  profile: Profile,
  earlier: readonly ProfileSummary[],
  { judge, storage }: SinceEditServices,
): Promise<SinceEdit | undefined> {
  const { summary } = profile
  const edit = readEdits(profile).at(-1)
  const older = edit === undefined ? [] : earlier.filter(({ time }) => time < edit.time)
  const ofUrl = older.filter(({ url }) => url === summary.url)
  const isSameUrl = ofUrl.length > 0
  const similar = isSameUrl ? ofUrl : older
  const [last] = similar
  if (edit === undefined || last === undefined) return undefined

  const lastEdit = readEdits(profile).findLast(({ time }) => time <= last.time)
  const before = similar.filter(({ time }) => time >= (lastEdit?.time ?? 0))
  const isSimilar = ({ time, url }: ProfileSummary) => time >= edit.time && (!isSameUrl || url === summary.url)
  const now = [summary, ...earlier.filter(isSimilar)]
  const read = async (summaries: readonly ProfileSummary[]) => {
    const found = await Promise.all(summaries.map(({ token }) => storage.find(token)))
    const profiles = found.flatMap(stored => stored?.profile ?? [])
    // With other cookies a page has other headers, and sets other cookies.
    return profiles.filter(other => cookiesOf(other) === cookiesOf(profile))
  }
  const files = filesOf(editsSince(profile, last))
  const compare = (profiles: readonly Profile[], others: readonly Profile[], leastTimes: number) =>
    findChanges({ profile, profiles, current: [profile, ...others], before, now, files, leastTimes, judge })
  // Reading a profile costs most of the time: further ones are read only to confirm a change.
  const [first, ...rest] = chooseLatest(before, timedCount)
  const others = chooseLatest(now.slice(1), timedCount - 1)
  const latest = await read(first === undefined ? [] : [first])
  const isChanged = latest.length === 0 || compare(latest, [], 1).length > 0
  return {
    files,
    time: edit.time,
    isSameUrl,
    before: last,
    times: compareTimes(before, now),
    changes: isChanged ? compare([...latest, ...(await read(rest))], await read(others), timedCount) : [],
  }
}

/** Some of the latest requests, cold ones only if too few are warm: no time is judged with a cold one. */
function chooseLatest(summaries: readonly ProfileSummary[], count: number): readonly ProfileSummary[] {
  const warm = summaries.filter(({ isCold }) => !isCold)
  const cold = summaries.filter(({ isCold }) => isCold)
  return [...warm, ...cold].slice(0, count)
}

/** The cookies of a request. Their values are masked, unless they are harmless. */
function cookiesOf({ collectors }: Profile): string {
  return readHeader(collectors.request, 'cookie').join('; ')
}

/** The time of a request before the last edit and since, as a change. */
export function describeTimes({ before, change, now }: ComparedTimes): EditChange {
  const share = ((now.median - before.median) / before.median) * 100
  const texts = {
    unknown: `too few warm requests to compare (${formatNumber(before.count)} and ${formatNumber(now.count)})`,
    usual: `within the usual spread (${formatDuration(before.least)} to ${formatDuration(before.most)})`,
    slower: `+${share.toFixed(0)} %`,
    faster: `−${Math.abs(share).toFixed(0)} %`,
  }
  const tones = { unknown: 'plain', usual: 'plain', slower: 'warning', faster: 'ok' } as const
  return {
    name: 'Time',
    before: formatDuration(before.median),
    now: formatDuration(now.median),
    text: texts[change],
    tone: tones[change],
  }
}

const ranks: readonly Tone[] = ['error', 'warning', 'ok', 'plain']

/** Lists the changes since an edit, also that of the time if it is clear, the worst first. Empty without any. */
export function listClaims({ changes, times }: SinceEdit): readonly EditChange[] {
  const isChanged = times.change === 'faster' || times.change === 'slower'
  const claims = isChanged ? [describeTimes(times), ...changes] : [...changes]
  return claims.sort((one, other) => ranks.indexOf(one.tone) - ranks.indexOf(other.tone))
}

/** A difference between the requests before an edit and those since. */
export interface EditChange {
  /** Such as `Queries`. */
  readonly name: string
  readonly before: string
  readonly now: string
  /** Such as `49 queries fewer`, for a bar or a list. */
  readonly text: string
  /** `ok` for an improvement. */
  readonly tone: Tone
}

/** The requests before an edit and those since, the newest first. */
interface EditedRequests {
  readonly profile: Profile
  /** The profiles of some of the requests before, with the same cookies. */
  readonly profiles: readonly Profile[]
  /** The profiles of some of the requests since, with the same cookies; the first one is `profile`. */
  readonly current: Versions
  readonly before: readonly ProfileSummary[]
  /** Also the request of `profile`, as the first one. */
  readonly now: readonly ProfileSummary[]
  /** The edited files. */
  readonly files: readonly string[]
  /** How many profiles of each version are needed to judge a time. */
  readonly leastTimes: number
  readonly judge: Judge
}

/** Finds the changes since an edit, the most important first. A value that requests before the edit had, too, is no change. */
function findChanges(requests: EditedRequests): readonly EditChange[] {
  return [
    ...compareEndings(requests),
    ...compareFindings(requests),
    ...summaryCounts.filter(({ isCompared }) => isCompared).flatMap(count => compareCounts(requests, count)),
    ...compareHeaders(requests),
    ...compareSizes(requests),
  ]
}

/** The status of a response to a client that has the page already: it depends on the request, not on the code. */
const notModified = 304

/** Whether the responses of two requests have the same parts: a 304 has neither content nor its headers. */
function isAlike(one: ProfileSummary, other: ProfileSummary): boolean {
  return (one.status === notModified) === (other.status === notModified)
}

function compareEndings({ before, profile: { summary } }: EditedRequests): EditChange[] {
  const [last] = before
  const nameOf = ({ exception, status }: ProfileSummary) => [status || 'no response', exception ?? ''].join(' ').trim()
  const answerOf = (other: ProfileSummary) => nameOf(other.status === notModified ? { ...other, status: 200 } : other)
  if (last === undefined || before.some(other => answerOf(other) === answerOf(summary))) return []
  const tone = isFailure(summary) ? 'error' : isFailure(last) ? 'ok' : 'warning'
  const [old, current] = [nameOf(last), nameOf(summary)]
  return [{ name: 'Answer', before: old, now: current, text: `${old} → ${current}`, tone }]
}

/**
 * Lists the rules with findings that are new, then those with findings that the code has no longer. They are judged as after a replay,
 * and only if all profiles before the edit agree. If the judgement is doubtful, a finding is called gone instead of fixed.
 */
function compareFindings(requests: EditedRequests): EditChange[] {
  const { current, judge, profiles } = requests
  const [last, ...others] = profiles
  if (last === undefined) return []
  const before: Versions = [last, ...others]
  const isIn = (finding: Finding) => before.map(profile => hasFinding(finding, profile, judge))
  const added = [...findFixed(current, before, requests).keys()].filter(finding => !isIn(finding).some(Boolean))
  const removed = [...findFixed(before, current, requests)].filter(([finding]) => isIn(finding).every(Boolean))
  const ofState = (wanted: FixVerdict['state']) =>
    removed.filter(([, { state }]) => state === wanted).map(([finding]) => finding)
  const describe = (findings: readonly Finding[], word: string, tone: Tone) =>
    [...groupBy(findings, ({ rule }) => rule)].map(([rule, [finding, ...more]]): EditChange => {
      const count = (profile: Profile) => String(judge.inspect(profile).filter(other => other.rule === rule).length)
      const amounts = more.length === 0 ? describeAmounts(finding, before, current, judge) : undefined
      const [old, now] = amounts ?? [count(last), count(current[0])]
      return { name: finding.title, before: old, now, text: `${word}: ${finding.title}`, tone }
    })
  return [
    ...describe(added, 'new', 'warning'),
    ...describe(ofState('doubtful'), 'gone', 'plain'),
    ...describe(ofState('fixed'), 'fixed', 'ok'),
  ]
}

/**
 * The findings of some profiles that are fixed in others. A time is judged if it was measured often enough, in no cold request, and its
 * file was edited.
 */
function findFixed(before: Versions, after: Versions, requests: EditedRequests): ReadonlyMap<Finding, FixVerdict> {
  const { files, judge, leastTimes } = requests
  const [profile] = before
  const isCold = [...before, ...after].some(({ summary }) => summary.isCold)
  const areEnough = !isCold && Math.min(before.length, after.length) >= leastTimes
  const canJudge = (finding: Finding) =>
    finding.severity !== 'info' && (!isTimed(finding, profile, judge) || (areEnough && isEdited(finding, files)))
  return new Map(
    listFlaws(profile, judge.inspect(profile)).flatMap(flaw => {
      const { finding } = flaw
      if (finding === undefined || !canJudge(finding)) return []
      const verdict = judgeFix(flaw, before, after, judge)
      return isFixed(verdict) ? [[finding, verdict] as const] : []
    }),
  )
}

/** Whether the file of a finding was edited; other times change by chance. */
function isEdited({ code }: Finding, files: readonly string[]): boolean {
  return code === undefined || files.includes(code.file)
}

function compareCounts({ before, now }: EditedRequests, { field, one, many = `${one}s` }: SummaryCount): EditChange[] {
  const valuesOf = (summaries: readonly ProfileSummary[]) => summaries.map(summary => summary[field])
  const { fewer, more } = compareRanges(valuesOf(before), valuesOf(now))
  const difference = fewer + more
  if (difference === 0) return []
  return [
    {
      name: capitalize(many),
      before: formatNumber(before[0]?.[field] ?? 0),
      now: formatNumber(now[0]?.[field] ?? 0),
      text: `${formatCount(difference, one, many)} ${more > 0 ? 'more' : 'fewer'}`,
      tone: more > 0 ? 'warning' : 'ok',
    },
  ]
}

/** The difference of the newest values of two versions; 0 where values of one are within the range of the other. */
function compareRanges(before: readonly number[], now: readonly number[]) {
  const difference = (now[0] ?? 0) - (before[0] ?? 0)
  const isMore = Math.min(...now) > Math.max(...before)
  const isFewer = Math.max(...now) < Math.min(...before)
  return { more: isMore ? difference : 0, fewer: isFewer ? -difference : 0 }
}

/** Headers whose values depend on the body: they change with it. */
const derived: readonly string[] = ['etag', 'last-modified']

const headerLimit = 8

/** Not compared: a cookie depends on the client, as a new browser gets one. */
const ofClient = 'set-cookie'

/** Compares the headers that were the same in all profiles before the edit. */
function compareHeaders({ profile, profiles }: EditedRequests): EditChange[] {
  const now = readResponseHeaders(profile)
  const like = profiles.find(({ summary }) => isAlike(summary, profile.summary))
  const last = like && readResponseHeaders(like)
  // The profiler's own error page has headers of its own.
  if (last === undefined || [last, now].some(each => each.has('x-debug-exception'))) return []
  const headers = profiles.map(readResponseHeaders)
  const isChanged = (name: string) => {
    if (name === ofClient) return false
    const [old, current] = [last.get(name), now.get(name)]
    const isStable = headers.every(other => isSame(other.get(name), old))
    return isStable && !isSame(old, current) && !(derived.includes(name) && old !== undefined && current !== undefined)
  }
  const names = [...new Set([...last.keys(), ...now.keys()])].filter(isChanged)
  return names.slice(0, headerLimit).map(name => {
    const [before, after] = [last, now].map(each => each.get(name)?.join(', '))
    const verb = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
    return { name, before: toText(before), now: toText(after), text: `${name} ${verb}`, tone: 'plain' }
  })
}

function toText(value: string | undefined): string {
  return shorten(value ?? '–', 80)
}

function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return one?.join('\n') === other?.join('\n')
}

/** The least change of the size of a page, as a part of the size and in bytes: its texts cause smaller ones. */
const leastShare = 0.05
const leastBytes = 100

function compareSizes({ before, now, profile }: EditedRequests): EditChange[] {
  const sizesOf = (summaries: readonly ProfileSummary[]) =>
    summaries.filter(other => isAlike(other, profile.summary)).flatMap(({ size }) => size ?? [])
  const old = sizesOf(before)
  const { fewer, more } = compareRanges(old, sizesOf(now))
  const [last = 0] = old
  if (!(fewer + more >= Math.max(leastBytes, leastShare * last))) return []
  const text = `${formatBytes(fewer + more)} ${more > 0 ? 'more' : 'less'}`
  return [{ name: 'Size', before: formatBytes(last), now: formatBytes(last + more - fewer), text, tone: 'plain' }]
}

/** Reads the edits of files that were in use when a request began, the oldest first. */
export function readEdits({ process, summary }: Profile): readonly FileEdit[] {
  const { edits = [] } = process.server ?? {}
  return edits.filter(({ files, time }) => time <= summary.time && files.length > 0)
}

/** The files of edits, each once, the latest first. */
function filesOf(edits: readonly FileEdit[]): readonly string[] {
  return [...new Set(edits.toReversed().flatMap(({ files }) => files))]
}

/** Reads when the process that recorded a profile has started, in milliseconds since 1970; `undefined` if it is not known. */
export function readProcessStart({ process }: Profile): number | undefined {
  const time = Date.parse(String(process.server?.process.started ?? ''))
  return Number.isNaN(time) ? undefined : time
}

/** A restart of the server between two profiles. */
interface Restart {
  /** Milliseconds since 1970. */
  readonly time: number
  /** The files that were edited between the two profiles. */
  readonly changed: readonly string[]
}

/** Finds the restart between two profiles, in any order; `undefined` if there was none, or it is not known. */
export function findRestart(one: Profile, other: Profile): Restart | undefined {
  const [earlier, later] = one.summary.time <= other.summary.time ? [one, other] : [other, one]
  const time = readProcessStart(later)
  if (time === undefined || earlier.summary.time >= time) return undefined
  return { time, changed: filesOf(editsSince(later, earlier.summary)) }
}

/** The edits between an earlier request and the request of a profile. */
function editsSince(profile: Profile, { time }: Pick<ProfileSummary, 'time'>): readonly FileEdit[] {
  return readEdits(profile).filter(edit => edit.time > time)
}
