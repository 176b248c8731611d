import { formatCount, shorten } from '../../profile/format.ts'
import { type Profile, type ProfileSummary, type SummaryCount, summaryCounts } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { findPredecessors, likenessOf } from '../relatives.ts'
import { bodyFacts, type Comparison, compareProfiles, nameOfField } from './comparison.ts'
import type { Compared } from './differences.ts'

/** A short summary of a comparison. */
export interface Verdict {
  /** Whether both profiles are equal except for times. */
  readonly isSame: boolean
  /** `Only timings changed: 30 % slower`, or `3 changes`: {@link Verdict.changes} lists them. */
  readonly title: string
  /** Differences in the result of the request. */
  readonly changes: readonly VerdictChange[]
  /** Differences in the request itself, which may be the cause. */
  readonly asked: readonly VerdictChange[]
}

/** Differences in a part of a comparison, such as `status (200 → 500)` or `2 response headers (etag, vary)`. */
interface VerdictChange {
  readonly part: keyof Comparison
  readonly text: string
  /** The number of values of the part that differ. */
  readonly count: number
}

/** Fields of a summary that the client determines. */
const askedFields: readonly string[] = ['method', 'url', 'ip']

/** Fields of a summary that say how the request ended: the most important ones. */
const outcomeFields: readonly string[] = ['status', 'outcome']

const exceptionNoun: PartNoun = { part: 'exceptions', noun: 'exception', isNamed: false, fields: ['exception'] }

/** Nouns for the differences of the other parts, the most important first. */
const partNouns: readonly PartNoun[] = [
  { part: 'responseHeaders', noun: 'response header', isNamed: true },
  { part: 'templates', noun: 'template', isNamed: true },
  { part: 'calls', noun: 'HTTP client call', isNamed: false, fields: fieldsOf('calls') },
  { part: 'queries', noun: 'statement shape', isNamed: false, fields: fieldsOf('queries') },
  { part: 'listeners', noun: 'listener', isNamed: false },
  { part: 'functions', noun: 'function', isNamed: false },
  { part: 'attributes', noun: 'request attribute', isNamed: true },
  { part: 'logs', noun: 'log message', isNamed: false },
]

const askedNouns: readonly PartNoun[] = [
  { part: 'parameters', noun: 'route parameter', isNamed: true },
  { part: 'query', noun: 'GET parameter', isNamed: true },
  { part: 'requestHeaders', noun: 'request header', isNamed: true },
  { part: 'negotiatedHeaders', noun: 'response header', isNamed: true },
  { part: 'requestBody', noun: 'part of the request body', many: 'parts of the request body', isNamed: false },
]

interface PartNoun {
  readonly part: keyof Comparison
  readonly noun: string
  readonly many?: string
  /** Whether the names of the differences are listed. */
  readonly isNamed: boolean
  /** The fields of the summary that contain the same difference. */
  readonly fields?: readonly string[]
}

/** The counts of the summary that a part of a comparison explains. */
function fieldsOf(wanted: SummaryCount['part']): readonly string[] {
  return summaryCounts.filter(({ part }) => part === wanted).map(({ field }) => field)
}

/** Summarizes the differences of a comparison, without times and durations. */
export function judgeComparison(comparison: Comparison): Verdict {
  const fields = listOwnFields(comparison).filter(isDifferent)
  const isAsked = ({ key }: Compared<unknown>) => askedFields.includes(key)
  const isOutcome = ({ key }: Compared<unknown>) => outcomeFields.includes(key)
  const changes = [
    ...fields.filter(isOutcome).map(describeField),
    ...describePart(comparison, exceptionNoun),
    ...fields.filter(field => !isOutcome(field) && !isAsked(field)).map(describeField),
    ...describeBody(comparison.responseBody.filter(isDifferent)),
    ...partNouns.flatMap(noun => describePart(comparison, noun)),
  ]
  const asked = [
    ...fields.filter(isAsked).map(describeField),
    ...askedNouns.flatMap(noun => describePart(comparison, noun)),
  ]
  const total = changes.reduce((sum, { count }) => sum + count, 0)
  return {
    isSame: total === 0,
    title: total === 0 ? describeTimings(comparison.timings) : formatCount(total, 'change'),
    changes,
    asked,
  }
}

/** What has changed since the previous request. */
export interface PreviousComparison {
  readonly previous: ProfileSummary
  /** What both requests have in common: `same URL`. */
  readonly likeness: string
  readonly verdict: Verdict
}

/**
 * Compares a profile with the closest previous one of the stored ones, the newest first; `undefined` if there is none.
 * A refused request has another input: it is only compared with one that was refused by the same status.
 */
export async function compareWithPrevious(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  profile: Profile,
): Promise<PreviousComparison | undefined> {
  const { summary } = profile
  const { candidates, spread } = findPredecessors(summaries, summary)
  const previous = candidates.find(
    ({ status }) => status === summary.status || !(isRefused(status) || isRefused(summary.status)),
  )
  const found = previous && (await storage.find(previous.token))
  if (previous === undefined || found === undefined) return undefined
  const verdict = judgeComparison(compareProfiles(found.profile, profile, spread))
  return { previous, likeness: likenessOf(previous, summary), verdict }
}

function isRefused(status: number): boolean {
  return status >= 400 && status < 500
}

/**
 * The fields of the summary, without those whose difference is among those of another part: each
 * difference counts once.
 */
export function listOwnFields(comparison: Comparison): Comparison['summary'] {
  const covered = [exceptionNoun, ...partNouns].flatMap(({ fields = [], part }) =>
    comparison[part].some(isDifferent) ? fields : [],
  )
  return comparison.summary.filter(({ key }) => !covered.includes(key))
}

/** Writes changes as one line. */
export function writeChanges(changes: readonly VerdictChange[]): string {
  return changes.map(({ text }) => text).join(', ')
}

function isDifferent({ change }: Pick<Compared<unknown>, 'change'>): boolean {
  return change !== 'same'
}

/** The maximal length of a value or a name: the page shows it in full in a table. */
const longText = 60

function describeField(field: Compared<string | number>): VerdictChange {
  return { part: 'summary', text: describeValues(nameOfField(field.key), field), count: 1 }
}

/** If the contents were compared, all differences of the body are written as their number. */
function describeBody(differences: readonly Compared<string>[]): VerdictChange[] {
  const part = 'responseBody'
  const count = differences.length
  if (differences.every(({ key }) => bodyFacts.includes(key)))
    return differences.map(fact => ({ part, text: describeValues(`response ${fact.key}`, fact), count: 1 }))
  return [{ part, text: `response body (${formatCount(count, 'difference')})`, count }]
}

/** The verdict of two profiles with the same result. */
function describeTimings(timings: Comparison['timings']): string {
  const [total] = timings
  const [before, after] = [total?.first?.duration ?? 0, total?.second?.duration ?? 0]
  if (timings.every(({ first, second }) => first?.duration === second?.duration)) return 'Nothing changed'
  if (!timings.some(isDifferent)) return 'Only timings changed, within the usual range'
  if (total?.change === 'same' || before === 0) return 'Only timings changed'
  const percent = Math.round((100 * Math.abs(after - before)) / before)
  return `Only timings changed: ${percent < 200 ? `${percent} %` : `${(after / before).toFixed(1)} times`} ${after > before ? 'slower' : 'faster'}`
}

function describeValues(name: string, { first, second }: Compared<string | number>): string {
  const write = (value: string | number | undefined) => shorten(String(value ?? ''), longText) || 'none'
  return `${name} (${write(first)} → ${write(second)})`
}

const namedLimit = 3

/** The fields of the summary with the same difference say more than the number of a single difference. */
function describePart(comparison: Comparison, { fields = [], isNamed, many, noun, part }: PartNoun): VerdictChange[] {
  const compared: readonly Compared<unknown>[] = comparison[part]
  const names = compared.filter(isDifferent).map(({ key }) => shorten(key, longText))
  const count = names.length
  if (count === 0) return []
  const facts = comparison.summary
    .filter(field => isDifferent(field) && fields.includes(field.key))
    .map(field => describeValues(nameOfField(field.key), field))
  if (count === 1 && facts.length > 0) return [{ part, text: facts.join(', '), count }]
  const shown = [...names.slice(0, namedLimit), ...(count > namedLimit ? ['…'] : [])]
  const text = `${formatCount(count, noun, many)}${isNamed ? ` (${shown.join(', ')})` : ''}`
  return [{ part, text: [text, ...facts].join(', '), count }]
}
