import { capitalize, formatBytes, formatCount, formatNumber, shorten } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { type Profile, type ProfileSummary, type SummaryCount, summaryCounts } from '../../profile/profile.ts'
import { readResponseHeaders } from '../compare/comparison.ts'
import type { Finding } from '../findings/finding.ts'
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
  type Versions,
} from '../replay/judge-fix.ts'
import type { Tone } from '../summary-view.ts'

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
export interface EditedRequests {
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
export function findChanges(requests: EditedRequests): readonly EditChange[] {
  return [
    ...compareEndings(requests),
    ...compareFindings(requests),
    ...summaryCounts.filter(({ isCompared }) => isCompared).flatMap(count => compareCounts(requests, count)),
    ...compareHeaders(requests),
    ...compareSizes(requests),
  ]
}

/** The client had the page already: this depends on its request, not on the code. */
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
 * Lists the rules with findings that are new, then those with findings that are fixed: by the same judgement as a replay, and only
 * if all profiles before the edit agree. A finding is only gone if the judgement is doubtful.
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

/** The findings of some profiles that are fixed in others. A time is judged if it was measured often enough, and its file was edited. */
function findFixed(before: Versions, after: Versions, requests: EditedRequests): ReadonlyMap<Finding, FixVerdict> {
  const { files, judge, leastTimes } = requests
  const [profile] = before
  const areEnough = Math.min(before.length, after.length) >= leastTimes
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

/** A cookie depends on the client: a new browser gets one. */
const ofClient = 'set-cookie'

/** Only headers that were the same in all profiles before the edit. */
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

/** A smaller change of a page is in its texts: a part of the size, and bytes. */
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
