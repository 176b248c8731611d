import { formatBytes, formatCount, formatNumber, shorten } from '../../profile/format.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { readResponseHeaders } from '../compare/comparison.ts'
import type { Finding } from '../findings/finding.ts'
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
  /** The profiles of some of the requests before. */
  readonly profiles: readonly Profile[]
  readonly before: readonly ProfileSummary[]
  /** Also the request of `profile`, as the first one. */
  readonly now: readonly ProfileSummary[]
  readonly inspect: (profile: Profile) => readonly Finding[]
}

/** Finds the changes since an edit, the most important first. A value that requests before the edit had, too, is no change. */
export function findChanges(requests: EditedRequests): readonly EditChange[] {
  return [
    ...compareEndings(requests),
    ...compareFindings(requests),
    ...counts.flatMap(count => compareCounts(requests, count)),
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
  const isFailure = ({ exception, status }: ProfileSummary) => exception !== null || status >= 400 || status === 0
  const tone = isFailure(summary) ? 'error' : isFailure(last) ? 'ok' : 'warning'
  const [old, current] = [nameOf(last), nameOf(summary)]
  return [{ name: 'Answer', before: old, now: current, text: `${old} → ${current}`, tone }]
}

/** Compares the numbers of findings of each rule. New ones come first. */
function compareFindings({ inspect, profile, profiles }: EditedRequests): EditChange[] {
  if (profiles.length === 0) return []
  const now = countRules(inspect(profile))
  const before = profiles.map(each => countRules(inspect(each)))
  const titles = new Map(
    [now, ...before].flatMap(rules => [...rules].map(([rule, { title }]) => [rule, title] as const)),
  )
  const changes = [...titles].flatMap(([rule, title]): EditChange[] => {
    const old = before.map(rules => rules.get(rule)?.count ?? 0)
    const count = now.get(rule)?.count ?? 0
    const { fewer, more } = compareRanges(old, [count])
    if (fewer + more === 0) return []
    const texts = { name: title, before: formatNumber(Number(old[0])), now: formatNumber(count) }
    return [
      more > 0
        ? { ...texts, text: `new: ${title}`, tone: 'warning' }
        : { ...texts, text: `fixed: ${title}`, tone: 'ok' },
    ]
  })
  return changes.sort((one, other) => Number(one.tone === 'ok') - Number(other.tone === 'ok'))
}

function countRules(
  findings: readonly Finding[],
): ReadonlyMap<string, { readonly title: string; readonly count: number }> {
  const rules = new Map<string, { title: string; count: number }>()
  for (const { rule, severity, title } of findings) {
    if (severity !== 'info') rules.set(rule, { title, count: (rules.get(rule)?.count ?? 0) + 1 })
  }
  return rules
}

interface Count {
  readonly field: 'errors' | 'warnings' | 'queries' | 'cacheCalls' | 'calls' | 'subRequests'
  readonly name: string
  readonly one: string
  readonly many?: string
}

const counts: readonly Count[] = [
  { field: 'errors', name: 'Logged errors', one: 'logged error' },
  { field: 'warnings', name: 'Logged warnings', one: 'logged warning' },
  { field: 'queries', name: 'Queries', one: 'query', many: 'queries' },
  { field: 'cacheCalls', name: 'Cache calls', one: 'cache call' },
  { field: 'calls', name: 'HTTP client calls', one: 'HTTP client call' },
  { field: 'subRequests', name: 'Sub-requests', one: 'sub-request' },
]

function compareCounts({ before, now }: EditedRequests, { field, many, name, one }: Count): EditChange[] {
  const valuesOf = (summaries: readonly ProfileSummary[]) => summaries.map(summary => summary[field])
  const { fewer, more } = compareRanges(valuesOf(before), valuesOf(now))
  const difference = fewer + more
  if (difference === 0) return []
  return [
    {
      name,
      before: formatNumber(Number(before[0]?.[field])),
      now: formatNumber(Number(now[0]?.[field])),
      text: `${formatCount(difference, one, many)} ${more > 0 ? 'more' : 'fewer'}`,
      tone: more > 0 ? 'warning' : 'ok',
    },
  ]
}

/** The difference of the newest values of two versions; 0 where values of one are within the range of the other. */
function compareRanges(before: readonly number[], now: readonly number[]) {
  const difference = Number(now[0]) - Number(before[0])
  const isMore = Math.min(...now) > Math.max(...before)
  const isFewer = Math.max(...now) < Math.min(...before)
  return { more: isMore ? difference : 0, fewer: isFewer ? -difference : 0 }
}

/** Headers whose values depend on the body: they change with it. */
const derived: readonly string[] = ['etag', 'last-modified']

const headerLimit = 8

/** Only headers that were the same in all profiles before the edit. */
function compareHeaders({ profile, profiles }: EditedRequests): EditChange[] {
  const now = readResponseHeaders(profile)
  const like = profiles.find(({ summary }) => isAlike(summary, profile.summary))
  const last = like && readResponseHeaders(like)
  // The profiler's own error page has headers of its own.
  if (last === undefined || [last, now].some(each => each.has('x-debug-exception'))) return []
  const headers = profiles.map(readResponseHeaders)
  const isChanged = (name: string) => {
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
