import type { ProfileSummary } from '../profile.ts'
import { isObject } from './parse-json-object.ts'
import type { SummaryField } from './profile-storage.ts'

/** Whether it is a token: six lower-case hexadecimal digits. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{6}$/.test(value)
}

/** Makes a summary of what was read from a file; `undefined` when a field is missing or wrong. Other fields are dropped. */
export function parseSummary(value: unknown): ProfileSummary | undefined {
  if (!isObject(value)) return undefined
  const summary: Record<string, unknown> = {}
  for (const [field, isValid] of checks) {
    const found = Object.hasOwn(value, field) ? value[field] : undefined
    if (!isValid(found)) return undefined
    summary[field] = found
  }
  // Each field was checked, and the table of the checks has one for each field.
  return summary as unknown as ProfileSummary
}

const outcomes: readonly unknown[] = [
  'complete',
  'aborted',
  'crashed',
  'unfinished',
] satisfies readonly ProfileSummary['outcome'][]

const isText = (value: unknown) => typeof value === 'string'
const isTextOrNull = (value: unknown) => value === null || isText(value)
const isAmount = (value: unknown) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
const isCount = (value: unknown) => isAmount(value) && Number.isInteger(value)
/** What a Date can hold. */
const isTime = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 8.64e15

const checkOf: Readonly<Record<SummaryField, (value: unknown) => boolean>> = {
  token: isToken,
  parent: value => value === null || isToken(value),
  type: value => value === 'request',
  outcome: value => outcomes.includes(value),
  status: isCount,
  ip: isText,
  method: isText,
  url: isText,
  route: isTextOrNull,
  controller: isTextOrNull,
  contentType: isTextOrNull,
  time: isTime,
  duration: isAmount,
  memory: isAmount,
  exception: isTextOrNull,
  errors: isCount,
  warnings: isCount,
  calls: isCount,
  subRequests: isCount,
}

const checks = Object.entries(checkOf)
