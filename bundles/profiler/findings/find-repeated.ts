import { groupBy } from '../panels/group-by.ts'
import type { StoredCall } from '../reading/read-calls.ts'

/** Two may be chance, or come from parts of a page that do not know of one another. */
const leastSame = 3

/** Fewer may be different things; so many are the items of a list, asked for one by one. */
const leastAlike = 5

/** Calls that stand for one. */
export interface CallGroup {
  /** Their method and address; `:id` stands for what differs. */
  readonly name: string
  readonly calls: readonly StoredCall[]
}

/** Finds calls that read the same, and those whose addresses differ in a value only. */
export function findRepeated(calls: readonly StoredCall[]): {
  readonly same: readonly CallGroup[]
  readonly alike: readonly CallGroup[]
} {
  const answered = calls.filter(isAnswered)
  const same = group(answered, nameOf, leastSame)
  const known = new Set(same.flatMap(({ calls }) => calls))
  const others = answered.filter(call => !known.has(call))
  return { same, alike: group(others, patternOf, leastAlike) }
}

function group(calls: readonly StoredCall[], keyOf: (call: StoredCall) => string, least: number): CallGroup[] {
  return [...groupBy(calls, keyOf)]
    .map(([name, calls]) => ({ name, calls }))
    .filter(({ calls }) => calls.length >= least)
}

/** Whether a call reads, and was answered: what writes is meant each time, and whoever has failed is asked again rightly. */
export function isAnswered({ end, error, method, status }: StoredCall): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && end !== undefined && error === '' && status > 0 && status < 500 && status !== 429
}

function nameOf({ method, url }: StoredCall): string {
  return `${method} ${url}`
}

/** Segments of a path that name one of many: numbers, UUIDs, and what is as long as a digest in hexadecimal. */
const identifiers = /(?<=[^/]\/)(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,})(?=\/|$)/gi

function patternOf({ method, url }: StoredCall): string {
  const at = url.indexOf('?')
  const address = at === -1 ? url : url.slice(0, at)
  const query = at === -1 ? '' : url.slice(at).replaceAll(/=[^&]*/g, '=…')
  return `${method} ${address.replaceAll(identifiers, ':id')}${query}`
}
