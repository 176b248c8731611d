import { parseSummary } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { isObject, parseJsonObject } from '../profile/schema.ts'
import type { Span } from './index-entry.ts'

/** A line of an index: what the list shows of a profile, and where in the segment the profile stands. */
export interface IndexLine {
  readonly keptAt: number
  readonly record: Span
  readonly facts: Span
  readonly summary: ProfileSummary
}

/** Writes the line, with its end. */
export function formatIndexLine({ keptAt, record, facts, summary }: IndexLine): string {
  const spans = `"record":[${record.offset},${record.length}],"facts":[${facts.offset},${facts.length}]`
  return `{"kept":${keptAt},${spans},"summary":${JSON.stringify(summary)}}\n`
}

/** Reads a line; `undefined` when it is damaged. */
export function parseIndexLine(text: string): IndexLine | undefined {
  const value = parseJsonObject(text)
  if (value === undefined) return undefined
  const keptAt = value.kept
  const record = parseSpan(value.record)
  const facts = parseSpan(value.facts)
  const summary = isObject(value.summary) ? parseSummary(value.summary) : undefined
  if (!isWhole(keptAt) || record === undefined || facts === undefined || summary === undefined) return undefined
  return { keptAt, record, facts, summary }
}

function parseSpan(value: unknown): Span | undefined {
  if (!Array.isArray(value)) return undefined
  const [offset, length] = value
  return isWhole(offset) && isWhole(length) ? { offset, length } : undefined
}

/** No time and no offset is greater. */
function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 8.64e15
}
