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
import { type Profile, type ProfileSummary, readCount, type SummaryCount, summaryCounts } from '../profile/profile.ts'
import { unitOf } from '../profile/units.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { FileEdit } from '../subjects/config/data.ts'
import { addCalled, readProfiles } from './called.ts'
import { isAlikeRequest, isCountKnown, readResponseHeaders } from './compare/comparison.ts'
import {
  describeAmounts,
  type FixVerdict,
  findAdded,
  hasFinding,
  isFailure,
  isTimed,
  type Judge,
  judgeFix,
  listFlaws,
  timedCount,
  type Versions,
} from './compare/judge-fix.ts'
import { type ComparedTimes, compareTimes, leastForMedian, leastNow } from './durations.ts'
import type { Finding } from './findings/finding.ts'
import { awaitLateWork } from './replay/late-work.ts'
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
  readonly storage: Pick<ProfileStorage, 'find' | 'search'>
  readonly judge: Judge
}

/**
 * Compares a request with similar requests before the last edit of files; `undefined` without an
 * edit, or without such a request. `earlier` are the similar requests before it, the newest first.
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
    const profiles = await readProfiles(storage, summaries)
    // With other cookies a page has other headers, and sets other cookies.
    return profiles.filter(other => clientOf(other) === clientOf(profile))
  }
  const files = filesOf(editsSince(profile, last))
  const [first, ...more] = await read(chooseLatest(before, timedCount))
  const earliest = now.slice(timedCount).slice(-1)
  const others = await read([...chooseLatest(now.slice(1, -earliest.length || undefined), timedCount - 1), ...earliest])
  const compare = async (latest: Profile) => {
    if (first === undefined) return []
    const profiles = await addCalled([first, ...more], storage)
    const current = await addCalled([latest, ...others], storage)
    return listChanges({ profiles, current, before, now, files }, judge)
  }
  const hasChanged = (await compare(profile)).length > 0
  return {
    files,
    time: edit.time,
    isSameUrl,
    before: last,
    times: compareTimes(before, now),
    changes: hasChanged ? await compare((await awaitLateWork([profile], storage))[0]) : [],
  }
}

/** Some of the latest requests, cold ones only if too few are warm: no time is judged with a cold one. */
function chooseLatest(summaries: readonly ProfileSummary[], count: number): readonly ProfileSummary[] {
  const warm = summaries.filter(({ isCold }) => !isCold)
  const cold = summaries.filter(({ isCold }) => isCold)
  return [...warm, ...cold].slice(0, count)
}

/** What identifies the client of a request. Values are masked, unless they are harmless. */
function clientOf({ collectors }: Profile): string {
  return ['cookie', 'authorization'].map(name => readHeader(collectors.request, name).join('; ')).join('\n')
}

/** The time of a request before the last edit and since, as a change. */
export function describeTimes({ before, change, now }: ComparedTimes): EditChange {
  const share = ((now.median - before.median) / before.median) * 100
  const of = (count: number, least: number) => `${Math.min(count, least)} of ${least}`
  const [older, newer] = [of(before.count, leastForMedian), of(now.count, leastNow)]
  const texts = {
    unknown: `too few warm requests to compare: ${older} before the edit, ${newer} since`,
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

/** A difference between the requests of two versions of the code. */
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

/**
 * The requests of two versions of the code, the newest first: all of them, and the profiles of
 * some that the same client has made.
 */
interface ComparedVersions {
  readonly before: readonly ProfileSummary[]
  readonly now: readonly ProfileSummary[]
  readonly profiles: Versions
  readonly current: Versions
  /** The edited files. */
  readonly files: readonly string[]
}

/**
 * Lists the changes between two versions, the most important first. A value that requests before
 * had, too, is no change.
 */
function listChanges(versions: ComparedVersions, judge: Judge): readonly EditChange[] {
  return [
    ...compareEndings(versions),
    ...compareFindings(versions, judge),
    ...summaryCounts.filter(({ isCompared }) => isCompared).flatMap(count => compareCounts(versions, count)),
    ...compareHeaders(versions),
    ...compareSizes(versions),
  ]
}

/** The status of a response to a client that has the page already: it depends on the request, not on the code. */
const notModified = 304

/** Whether two responses have content and its headers, or both have none. */
function areWhole(one: ProfileSummary, other: ProfileSummary): boolean {
  return (one.status === notModified) === (other.status === notModified)
}

function compareEndings({
  before,
  current: [{ summary }],
  now,
  profiles: [{ summary: last }],
}: ComparedVersions): EditChange[] {
  const nameOf = (ended: ProfileSummary) => {
    const { exception, outcome, status } = ended
    const ending = unitOf(ended).isExchange ? status || 'no response' : outcome
    return [ending, exception ?? ''].join(' ').trim()
  }
  const answerOf = (other: ProfileSummary) => nameOf(other.status === notModified ? { ...other, status: 200 } : other)
  if (before.some(other => answerOf(other) === answerOf(summary))) return []
  const tone = isFailure(summary) ? 'error' : isFailure(last) ? 'ok' : 'warning'
  if (tone === 'ok' && now.some(isFailure)) return []
  const [old, current] = [nameOf(last), nameOf(summary)]
  return [{ name: 'Answer', before: old, now: current, text: `${old} → ${current}`, tone }]
}

/** The words for what has become of a finding, the most important first. */
const ends: Readonly<Partial<Record<FixVerdict['state'], readonly [word: string, tone: Tone]>>> = {
  moved: ['moved', 'warning'],
  changed: ['changed its form', 'warning'],
  doubtful: ['gone', 'plain'],
  fixed: ['fixed', 'ok'],
}

/**
 * Lists the rules with findings that are new, then those with findings that the code has no
 * longer, if all profiles before have them.
 */
function compareFindings({ current, files, profiles }: ComparedVersions, judge: Judge): EditChange[] {
  const [last] = profiles
  const [warmBefore, warmNow] = [profiles, current].map(takeWarm)
  const isEdited = ({ code }: Finding) => code === undefined || files.includes(code.file)
  // Times that are not of an edited file change by chance, and those of cold requests say nothing.
  const choose = (finding: Finding) => {
    if (!isTimed(finding, last, judge)) return [profiles, current] as const
    return warmBefore && warmNow && isEdited(finding) ? ([warmBefore, warmNow] as const) : undefined
  }
  const describe = (findings: readonly Finding[], word: string, tone: Tone) =>
    [...groupBy(findings, ({ rule }) => rule)].map(([rule, [finding, ...more]]): EditChange => {
      const count = (profile: Profile) => String(judge.inspect(profile).filter(other => other.rule === rule).length)
      const [before, after] = choose(finding) ?? [profiles, current]
      const amounts = more.length === 0 ? describeAmounts(finding, before, after, judge) : undefined
      const [old, now] = amounts ?? [count(last), count(current[0])]
      return { name: finding.title, before: old, now, text: `${word}: ${finding.title}`, tone }
    })
  const judged = listFlaws(last, judge.inspect(last)).flatMap(flaw => {
    const { finding } = flaw
    const chosen = finding && choose(finding)
    if (finding === undefined || chosen === undefined || finding.severity === 'info') return []
    if (!profiles.every(profile => hasFinding(finding, profile, judge))) return []
    return [{ finding, state: judgeFix(flaw, ...chosen, judge).state }]
  })
  const added = findAdded(profiles, current, judge).filter(finding => choose(finding) !== undefined)
  return [
    ...describe(added, 'new', 'warning'),
    ...Object.entries(ends).flatMap(([wanted, [word, tone]]) =>
      describe(
        judged.filter(({ state }) => state === wanted).map(({ finding }) => finding),
        word,
        tone,
      ),
    ),
  ]
}

/** The profiles of which a time can be judged; `undefined` if they are too few. */
function takeWarm(profiles: Versions): Versions | undefined {
  const [first, ...others] = profiles.filter(({ summary }) => !summary.isCold).slice(0, timedCount)
  return first === undefined || others.length + 1 < timedCount ? undefined : [first, ...others]
}

function compareCounts(versions: ComparedVersions, count: SummaryCount): EditChange[] {
  const { one, many = `${one}s` } = count
  const { before, current, now, profiles } = versions
  if ([profiles[0], current[0]].some(profile => !isCountKnown(profile, count.field))) return []
  const read = (summary: ProfileSummary) => readCount(summary, count)
  const [old, latest] = [read(profiles[0].summary), read(current[0].summary)]
  const difference = compareRanges(before.map(read).concat(old), now.map(read), latest - old)
  if (difference === 0) return []
  return [
    {
      name: capitalize(many),
      before: formatNumber(old),
      now: formatNumber(latest),
      text: `${formatCount(Math.abs(difference), one, many)} ${difference > 0 ? 'more' : 'fewer'}`,
      tone: difference > 0 ? 'warning' : 'ok',
    },
  ]
}

/** The difference of two versions; 0 where values of one are within the range of the other. */
function compareRanges(before: readonly number[], now: readonly number[], difference: number): number {
  return Math.min(...now) > Math.max(...before) || Math.max(...now) < Math.min(...before) ? difference : 0
}

/** Headers whose values depend on the body: they change with it. */
const derived: readonly string[] = ['etag', 'last-modified']

const headerLimit = 8

/** Not compared: a cookie depends on the client, as a new browser gets one. */
const ofClient = 'set-cookie'

/**
 * The profiles before whose requests have asked for the same, so that a difference of their
 * responses is one of the code.
 */
function findAlike({ current: [profile], profiles }: ComparedVersions): readonly Profile[] {
  return profiles.filter(other => isAlikeRequest(other, profile))
}

/** Compares the headers that were the same in all alike profiles before. */
function compareHeaders(versions: ComparedVersions): EditChange[] {
  const [profile] = versions.current
  const alike = findAlike(versions)
  const headers = alike.map(readResponseHeaders)
  const last = headers[alike.findIndex(({ summary }) => areWhole(summary, profile.summary))]
  const now = readResponseHeaders(profile)
  // The profiler's own error page has headers of its own.
  if (last === undefined || [last, now].some(each => each.has('x-debug-exception'))) return []
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

function compareSizes(versions: ComparedVersions): EditChange[] {
  const { before, current, now } = versions
  const sizesOf = (summaries: readonly ProfileSummary[]) =>
    summaries.filter(other => areWhole(other, current[0].summary)).flatMap(({ size }) => size ?? [])
  const [last] = sizesOf(findAlike(versions).map(({ summary }) => summary))
  const [latest] = sizesOf(now)
  if (last === undefined || latest === undefined) return []
  const difference = compareRanges(sizesOf(before), sizesOf(now), latest - last)
  if (Math.abs(difference) < Math.max(leastBytes, leastShare * last)) return []
  const text = `${formatBytes(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'}`
  return [{ name: 'Size', before: formatBytes(last), now: formatBytes(latest), text, tone: 'plain' }]
}

/** Reads the edits of files that were in use when a request began, the oldest first. */
function readEdits({ process, summary }: Profile): readonly FileEdit[] {
  const { edits = [] } = process.server ?? {}
  return edits.filter(({ files, time }) => time <= summary.time && files.length > 0)
}

/** The files of edits, each once, the latest first. */
function filesOf(edits: readonly FileEdit[]): readonly string[] {
  return [...new Set(edits.toReversed().flatMap(({ files }) => files))]
}

/**
 * Reads when the server that recorded a profile has started, in milliseconds since 1970; `undefined`
 * if it is not known. The console replays a request in its own process, while the server goes on.
 */
export function readProcessStart({ process }: Profile): number | undefined {
  const { started = '', 'command line': line = '' } = process.server?.process ?? {}
  if (/^node .*\bbin[\\/]console /.test(String(line))) return undefined
  const time = Date.parse(String(started))
  return Number.isNaN(time) ? undefined : time
}

/**
 * Finds the restart of the server between two profiles, in any order, and the files that were edited between them;
 * `undefined` if there was none, or it is not known.
 */
export function findRestart(one: Profile, other: Profile) {
  const [earlier, later] = one.summary.time <= other.summary.time ? [one, other] : [other, one]
  const time = readProcessStart(later)
  if (time === undefined || earlier.summary.time >= time) return undefined
  return { time, changed: filesOf(editsSince(later, earlier.summary)) }
}

/** The edits between an earlier request and the request of a profile. */
function editsSince(profile: Profile, { time }: Pick<ProfileSummary, 'time'>): readonly FileEdit[] {
  return readEdits(profile).filter(edit => edit.time > time)
}
