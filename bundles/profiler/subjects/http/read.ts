import { isRetrieval } from '../../../../lib/http/conditions.ts'
import { formatNumber } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import {
  type BadWork,
  createWork,
  type LocatedWork,
  locateWork,
  readMoreWork,
  readStops,
  type WorkKind,
} from '../../profile/work.ts'
import type { HttpCall } from './data.ts'

/** An HTTP client call of a profile. Times are in milliseconds from the start of the request. */
export interface StoredCall extends LocatedWork<HttpCall> {
  /** 0 without a response. */
  readonly status: number
  /** Empty when it did not fail. */
  readonly error: string
  readonly outcome: { readonly text: string; readonly level: string }
  /** The index of the first call that asked for the same, before this one. */
  readonly twin: number | undefined
}

/** Reads the HTTP client calls of a profile: empty lists if nothing was recorded. */
export const readCalls = oncePerProfile(collectors => {
  const { calls = [], more, omitted = 0 } = collectors.http ?? {}
  const firsts = new Map<string, number>()
  const stops = readStops({ collectors })
  return {
    calls: locateWork(calls, stops).map((call): StoredCall => {
      const { error = '', index, method, status = 0, url } = call
      const name = `${method} ${url}`
      const twin = firsts.get(name)
      // Two calls that write may differ in their bodies.
      if (isRetrieval(method)) firsts.set(name, twin ?? index)
      return { outcome: outcomeOf(call), twin, ...call, status, error }
    }),
    omitted,
    more: readMoreWork(more, stops),
  }
})

/** How many calls have failed, had no response, or were answered with an error; empty without one. */
export function countBadCalls(profile: Profile): BadWork {
  const { calls, more } = readCalls(profile)
  const failed = calls.filter(({ outcome }) => outcome.level === 'error').length + more.failed
  if (failed > 0) return { text: `${formatNumber(failed)} failed`, count: failed, tone: 'error' }
  const refused = calls.filter(({ outcome }) => outcome.level === 'warning')
  const statuses = [...new Set(refused.map(({ status }) => status))]
  const status = statuses.length === 1 ? statuses[0] : '4xx'
  const { length } = refused
  return { text: length === 0 ? '' : `${formatNumber(length)} answered ${status}`, count: length, tone: 'warning' }
}

/** The HTTP client calls as work. */
export const callWork: Required<WorkKind> = {
  panel: 'http',
  category: 'http',
  label: 'HTTP client calls',
  nouns: ['HTTP client call', 'HTTP client calls'],
  list: profile =>
    readCalls(profile).calls.map(({ caller, end, error, index, method, start, status, stopped, url }) =>
      createWork({
        name: `${method} ${url.replace(/^https?:\/\//, '')}`.trim(),
        id: `call-${index}`,
        start,
        end,
        stopped,
        hasFailed: error !== '',
        note: status === 0 ? '' : String(status),
        caller,
      }),
    ),
  more: profile => readCalls(profile).more,
  count(profile) {
    const { calls, omitted } = readCalls(profile)
    return calls.length + omitted
  },
}

function outcomeOf({ end, error = '', status = 0 }: LocatedWork<HttpCall>): StoredCall['outcome'] {
  if (error !== '') return { text: status === 0 ? 'failed' : `${status}, failed`, level: 'error' }
  if (end === undefined) return { text: status === 0 ? 'unfinished' : `${status}, unfinished`, level: 'plain' }
  return { text: String(status), level: status >= 500 ? 'error' : status >= 400 ? 'warning' : 'ok' }
}

/** Segments of a path that identify an item: numbers, UUIDs, and hexadecimal digests. */
const identifiers = /(?<=[^/]\/)(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,})(?=\/|$)/gi

/** The method and URL of a call without the values in them: `GET http://api/users/:id?page=…`. */
export function patternOf({ method, url }: Pick<HttpCall, 'method' | 'url'>): string {
  const at = url.indexOf('?')
  const address = at === -1 ? url : url.slice(0, at)
  const query = at === -1 ? '' : url.slice(at).replaceAll(/=[^&]*/g, '=…')
  return `${method} ${address.replaceAll(identifiers, ':id')}${query}`
}

/**
 * Whether a call went on after a time. A call without an end may still run; the body of an answered call may never be
 * read. The client reports the end of an aborted call after its caller has gone on: that is no work.
 */
export function isLate({ end, head, isAborted }: Pick<HttpCall, 'end' | 'head' | 'isAborted'>, since: number): boolean {
  return isAborted && (head === undefined || head <= since) ? false : (end ?? head ?? Infinity) > since
}

/**
 * The phases of a call whose times are known. If the server answers before the whole request was
 * sent, there is no phase of waiting.
 */
export function phasesOf({ start, sent, uploaded = sent, head, end }: StoredCall) {
  const phases: [
    name: 'queued' | 'sending' | 'waiting' | 'receiving',
    from: number | undefined,
    to: number | undefined,
  ][] = [
    ['queued', start, sent],
    ['sending', sent, uploaded],
    ['waiting', uploaded, head],
    ['receiving', head, end],
  ]
  return phases.flatMap(([name, from, to]) =>
    from !== undefined && to !== undefined && to > from ? [{ name, start: from, duration: to - from }] : [],
  )
}

/** Reads the outcomes of the HTTP client calls by method and URL without values: `['200', '3 × 500']`. */
export function readCallOutcomes(profile: Profile): Map<string, string[]> {
  const groups = groupBy(readCalls(profile).calls, patternOf)
  const outcomes = [...groups].map(([name, calls]): [string, string[]] => {
    const counts = [...groupBy(calls, ({ outcome }) => outcome.text)]
    return [name, counts.map(([text, { length }]) => (length === 1 ? text : `${length} × ${text}`)).sort()]
  })
  return new Map(outcomes)
}
