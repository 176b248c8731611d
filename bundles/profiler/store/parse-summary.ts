import type { ProfileSummary } from '../profile.ts'
import { isObject } from './parse-json-object.ts'

/** Whether it is a token: six lower-case hexadecimal digits. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{6}$/.test(value)
}

/** Makes a summary of what was read from a file; `undefined` when a field is missing or wrong. Other fields are dropped. */
export function parseSummary(value: unknown): ProfileSummary | undefined {
  // Nothing is inherited: what JSON gives has no other prototype.
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return undefined
  // Field by field, written out: a loop over a table takes several times as long, and there are many to read.
  const {
    token,
    parent,
    type,
    outcome,
    status,
    ip,
    method,
    url,
    route,
    controller,
    contentType,
    time,
    duration,
    memory,
    exception,
    errors,
    warnings,
    calls,
    subRequests,
  } = value
  const isValid =
    isToken(token) &&
    (parent === null || isToken(parent)) &&
    type === 'request' &&
    isOutcome(outcome) &&
    isCount(status) &&
    isText(ip) &&
    isText(method) &&
    isText(url) &&
    isTextOrNull(route) &&
    isTextOrNull(controller) &&
    isTextOrNull(contentType) &&
    isTime(time) &&
    isAmount(duration) &&
    isAmount(memory) &&
    isTextOrNull(exception) &&
    isCount(errors) &&
    isCount(warnings) &&
    isCount(calls) &&
    isCount(subRequests)
  return isValid
    ? {
        token,
        parent,
        type,
        outcome,
        status,
        ip,
        method,
        url,
        route,
        controller,
        contentType,
        time,
        duration,
        memory,
        exception,
        errors,
        warnings,
        calls,
        subRequests,
      }
    : undefined
}

const outcomes: readonly unknown[] = [
  'complete',
  'aborted',
  'stream-failed',
  'crashed',
  'unfinished',
] satisfies readonly ProfileSummary['outcome'][]

const isOutcome = (value: unknown): value is ProfileSummary['outcome'] => outcomes.includes(value)
const isText = (value: unknown): value is string => typeof value === 'string'
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value)
const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
const isCount = (value: unknown): value is number => isAmount(value) && Number.isInteger(value)
/** What a Date can hold. */
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 8.64e15
