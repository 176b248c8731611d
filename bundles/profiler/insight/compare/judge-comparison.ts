import { formatCount, formatShare, shorten } from '../../profile/format.ts'
import type { Compared } from './compare-maps.ts'
import { bodyFacts } from './compared-parts.ts'
import { type Comparison, nameOfField } from './comparison.ts'

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
  readonly count: number
}

/** Fields of a summary that the client determines. */
const askedFields: readonly string[] = ['method', 'url', 'ip']

/** Nouns for the differences of each part, the most important first. `isNamed` lists the names of the differences. */
const partNouns: readonly PartNoun[] = [
  { part: 'exceptions', noun: 'exception', isNamed: false, fields: ['exception'] },
  { part: 'responseHeaders', noun: 'response header', isNamed: true },
  { part: 'templates', noun: 'template', isNamed: true },
  { part: 'calls', noun: 'HTTP client call', isNamed: false, fields: ['calls'] },
  { part: 'queries', noun: 'statement shape', isNamed: false, fields: ['queries', 'cacheCalls'] },
  { part: 'listeners', noun: 'listener', isNamed: false },
  { part: 'attributes', noun: 'request attribute', isNamed: true },
  { part: 'logs', noun: 'log message', isNamed: false },
]

const askedNouns: readonly PartNoun[] = [
  { part: 'parameters', noun: 'route parameter', isNamed: true },
  { part: 'query', noun: 'GET parameter', isNamed: true },
  { part: 'requestHeaders', noun: 'request header', isNamed: true },
  { part: 'requestBody', noun: 'part of the request body', many: 'parts of the request body', isNamed: false },
]

interface PartNoun {
  readonly part: keyof Comparison
  readonly noun: string
  readonly many?: string
  readonly isNamed: boolean
  /** The fields of the summary that contain the same difference. */
  readonly fields?: readonly string[]
}

/** Summarizes the differences of a comparison, without times and durations. */
export function judgeComparison(comparison: Comparison): Verdict {
  const fields = comparison.summary.filter(isDifferent)
  const isAsked = ({ key }: Compared<unknown>) => askedFields.includes(key)
  const changes = [
    ...fields.filter(field => !isAsked(field)).map(describeField),
    ...describeBody(comparison.responseBody.filter(isDifferent)),
    ...partNouns
      .filter(noun => !fields.some(({ key }) => noun.fields?.includes(key)))
      .flatMap(noun => describePart(comparison, noun)),
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

/** Writes changes as one line. */
export function writeChanges(changes: readonly VerdictChange[]): string {
  return changes.map(({ text }) => text).join(', ')
}

function isDifferent({ change }: Compared<unknown>): boolean {
  return change !== 'same'
}

/** The maximal length of a value or a name: the page shows it in full in a table. */
const longText = 60

function describeField(field: Compared<string | number>): VerdictChange {
  const part = partNouns.find(noun => noun.fields?.includes(field.key))?.part ?? 'summary'
  return describeValues(part, nameOfField(field.key), field)
}

/** If the contents were compared, their differences are one change, and their size follows from them. */
function describeBody(differences: readonly Compared<string>[]): VerdictChange[] {
  const [facts, found] = partition(differences, ({ key }) => bodyFacts.includes(key))
  if (found.length === 0) return facts.map(fact => describeValues('responseBody', `response ${fact.key}`, fact))
  const transfer = facts.filter(({ key }) => key === 'transfer')
  return [
    { part: 'responseBody', text: `response body (${formatCount(found.length, 'difference')})`, count: 1 },
    ...transfer.map(fact => describeValues('responseBody', 'response transfer', fact)),
  ]
}

function partition<item>(items: readonly item[], test: (item: item) => boolean): [item[], item[]] {
  return [items.filter(test), items.filter(item => !test(item))]
}

/** The verdict of two profiles with the same result. */
function describeTimings(timings: Comparison['timings']): string {
  const [total] = timings
  const [before, after] = [Number(total?.first?.duration), Number(total?.second?.duration)]
  if (!timings.some(isDifferent)) return 'Only timings changed, within the usual range'
  if (total?.change === 'same' || before === 0) return 'Only timings changed'
  return `Only timings changed: ${formatShare(Math.abs(after - before), before)} ${after > before ? 'slower' : 'faster'}`
}

function describeValues(
  part: VerdictChange['part'],
  name: string,
  { first, second }: Compared<string | number>,
): VerdictChange {
  const write = (value: string | number | undefined) => shorten(String(value), longText) || 'none'
  return { part, text: `${name} (${write(first)} → ${write(second)})`, count: 1 }
}

const namedLimit = 3

function describePart(comparison: Comparison, { isNamed, many, noun, part }: PartNoun): VerdictChange[] {
  const compared: readonly Compared<unknown>[] = comparison[part]
  const names = compared.filter(isDifferent).map(({ key }) => shorten(key, longText))
  const count = names.length
  if (count === 0) return []
  const shown = [...names.slice(0, namedLimit), ...(count > namedLimit ? ['…'] : [])]
  return [{ part, text: `${formatCount(count, noun, many)}${isNamed ? ` (${shown.join(', ')})` : ''}`, count }]
}
