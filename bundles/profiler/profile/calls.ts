import { joinPeriods, totalOf } from './periods.ts'
import type { Profile } from './profile.ts'
import { asNumber, asObject, asObjects, asOptionalNumber, asText } from './read-soft.ts'

/** An outgoing HTTP request of a profile. Times are in milliseconds from the start of the pass. */
export interface StoredCall {
  /** Its place among all that were recorded. */
  readonly index: number
  readonly client: string
  readonly method: string
  readonly url: string
  readonly start: number
  readonly sent: number | undefined
  readonly uploaded: number | undefined
  readonly head: number | undefined
  readonly end: number | undefined
  /** 0 without a response. */
  readonly status: number
  readonly bytes: number | undefined
  readonly isCounted: boolean
  readonly error: string
  readonly caller: Readonly<Record<string, unknown>>
  readonly outcome: { readonly text: string; readonly level: string }
  /** Before it, the same was asked for by this one. */
  readonly twin: number | undefined
}

/** Reads which requests were sent: none where there is nothing. */
export function readCalls({ data }: Profile): { readonly calls: readonly StoredCall[]; readonly omitted: number } {
  const { calls, omitted } = asObject(data.http)
  const firsts = new Map<string, number>()
  return {
    calls: asObjects(calls).map((call, index) => {
      const name = `${asText(call.method)} ${asText(call.url)}`
      const twin = firsts.get(name)
      if (isRead(call)) firsts.set(name, twin ?? index)
      return toCall(call, index, twin)
    }),
    omitted: asNumber(omitted),
  }
}

/** Two that write may differ in their bodies. */
function isRead({ method }: Readonly<Record<string, unknown>>): boolean {
  return method === 'GET' || method === 'HEAD'
}

function toCall(call: Readonly<Record<string, unknown>>, index: number, twin: number | undefined): StoredCall {
  return {
    index,
    client: asText(call.client),
    method: asText(call.method),
    url: asText(call.url),
    start: asNumber(call.start),
    sent: asOptionalNumber(call.sent),
    uploaded: asOptionalNumber(call.uploaded),
    head: asOptionalNumber(call.head),
    end: asOptionalNumber(call.end),
    status: asNumber(call.status),
    bytes: asOptionalNumber(call.bytes),
    isCounted: call.isCounted === true,
    error: asText(call.error),
    caller: asObject(call.caller),
    outcome: outcomeOf(call),
    twin,
  }
}

function outcomeOf({ status, end, error }: Readonly<Record<string, unknown>>): StoredCall['outcome'] {
  const code = asNumber(status)
  if (asText(error) !== '') return { text: code === 0 ? 'failed' : `${code}, failed`, level: 'error' }
  if (asOptionalNumber(end) === undefined)
    return { text: code === 0 ? 'unfinished' : `${code}, unfinished`, level: 'plain' }
  return { text: String(code), level: code >= 500 ? 'error' : code >= 400 ? 'warning' : 'ok' }
}

/** How long it took; nothing of what is not over. */
export function durationOf({ start, end = start }: StoredCall): number {
  return Math.max(0, end - start)
}

/** A part of a call's time. */
export interface CallPhase {
  readonly name: 'queued' | 'sending' | 'waiting' | 'receiving'
  readonly start: number
  readonly duration: number
}

/** What the time went to; only what is known. A server may answer before all is sent: then nothing was waited for. */
export function phasesOf({ start, sent, uploaded = sent, head, end }: StoredCall): CallPhase[] {
  const phases: [name: CallPhase['name'], from: number | undefined, to: number | undefined][] = [
    ['queued', start, sent],
    ['sending', sent, uploaded],
    ['waiting', uploaded, head],
    ['receiving', head, end],
  ]
  return phases.flatMap(([name, from, to]) =>
    from !== undefined && to !== undefined && to > from ? [{ name, start: from, duration: to - from }] : [],
  )
}

/** How long at least one of the calls was under way. */
export function coveredTime(calls: readonly StoredCall[]): number {
  return totalOf(joinPeriods(calls.map(call => ({ start: call.start, duration: durationOf(call) }))))
}
