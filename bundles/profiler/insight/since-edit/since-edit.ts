import { formatDuration, formatNumber, readHeader } from '../../profile/format.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { editsSince, filesOf, readEdits } from '../edits.ts'
import { type Judge, timedCount } from '../replay/judge-fix.ts'
import type { Tone } from '../summary-view.ts'
import { type EditChange, findChanges } from './edit-changes.ts'

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
  const latest = await read(before.slice(0, 1))
  const isChanged = latest.length === 0 || compare(latest, [], 1).length > 0
  const readMore = (summaries: readonly ProfileSummary[]) => read(summaries.slice(1, timedCount))
  return {
    files,
    time: edit.time,
    isSameUrl,
    before: last,
    times: compareTimes(before.map(durationOf), now.map(durationOf)),
    changes: isChanged ? compare([...latest, ...(await readMore(before))], await readMore(now), timedCount) : [],
  }
}

/** Their values are masked, unless they are harmless. */
function cookiesOf({ collectors }: Profile): string {
  return readHeader(collectors.request, 'cookie').join('; ')
}

function durationOf({ duration }: ProfileSummary): number {
  return duration
}

/** The time of a request before the last edit and since, as a change. */
export function describeTimes({ before, change, now }: ComparedTimes): EditChange {
  const share = ((now.median - before.median) / before.median) * 100
  const texts = {
    unknown: `too few requests to compare (${formatNumber(before.count)} and ${formatNumber(now.count)})`,
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

/** Lists the changes since an edit, also that of the time if chance does not explain it, the worst first. Empty without any. */
export function listClaims({ changes, times }: SinceEdit): readonly EditChange[] {
  const isChanged = times.change === 'faster' || times.change === 'slower'
  const claims = isChanged ? [describeTimes(times), ...changes] : [...changes]
  return claims.sort((one, other) => ranks.indexOf(one.tone) - ranks.indexOf(other.tone))
}

/** The durations of requests of one version of the code, in milliseconds. */
interface Spread {
  /** The number of durations, without the first one: the code was cold. */
  readonly count: number
  readonly median: number
  readonly least: number
  readonly most: number
}

/** The durations of two versions. */
interface ComparedTimes {
  readonly before: Spread
  readonly now: Spread
  /** `unknown` if there are too few durations, `usual` if the change may be chance. */
  readonly change: 'faster' | 'slower' | 'usual' | 'unknown'
}

/** More durations do not make the answer better. */
const sampleLimit = 20

/** The greatest probability of an answer other than `usual` for durations of the same distribution. */
const chance = 0.02

/** A smaller change does not matter: a part of the median, and milliseconds. */
const leastShare = 0.05
const leastDifference = 2

/** Compares the durations of two versions, each with the latest first. */
export function compareTimes(before: readonly number[], now: readonly number[]): ComparedTimes {
  const first = toSample(before)
  const second = toSample(now)
  return { before: toSpread(first), now: toSpread(second), change: findChange(first, second) }
}

/** The latest durations. The earliest one of a version is left out: it was measured with cold code and caches. */
function toSample(durations: readonly number[]): readonly number[] {
  return durations.slice(0, Math.min(sampleLimit, Math.max(1, durations.length - 1)))
}

function toSpread(sample: readonly number[]): Spread {
  const sorted = sample.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const median = ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
  return { count: sorted.length, median, least: sorted[0] ?? 0, most: sorted.at(-1) ?? 0 }
}

function findChange(before: readonly number[], now: readonly number[]): ComparedTimes['change'] {
  if (probabilityOf(0, before.length, now.length) > chance) return 'unknown'
  const [old, current] = [toSpread(before).median, toSpread(now).median]
  const difference = Math.abs(current - old)
  if (difference < leastDifference || difference < old * leastShare) return 'usual'
  const slower = now.reduce((sum, one) => sum + before.reduce((sum, other) => sum + rank(one, other), 0), 0)
  const fewer = Math.floor(Math.min(slower, before.length * now.length - slower))
  if (probabilityOf(fewer, before.length, now.length) > chance) return 'usual'
  return current > old ? 'slower' : 'faster'
}

function rank(one: number, other: number): number {
  return one === other ? 0.5 : Number(one > other)
}

/**
 * The probability that two samples of one distribution are so far apart: at most `fewer` of their pairs are in the rarer
 * order. Mann and Whitney, 1947; two-sided, by counting the orders of all values.
 */
function probabilityOf(fewer: number, first: number, second: number): number {
  const most = first * second
  // The numbers of orders by pairs are the coefficients of a Gaussian binomial: products and quotients of 1 - q^i.
  const orders = new Float64Array(most + 1)
  orders[0] = 1
  for (let index = 1; index <= first; index++) {
    for (let at = most; at >= second + index; at--) orders[at] = (orders[at] ?? 0) - (orders[at - second - index] ?? 0)
    for (let at = index; at <= most; at++) orders[at] = (orders[at] ?? 0) + (orders[at - index] ?? 0)
  }
  const total = orders.reduce((sum, count) => sum + count, 0)
  const extreme = orders.slice(0, fewer + 1).reduce((sum, count) => sum + count, 0)
  return Math.min(1, (2 * extreme) / total)
}
