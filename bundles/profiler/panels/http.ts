import path from 'node:path'
import type { Profile } from '../profile.ts'
import { formatBytes } from './format-bytes.ts'
import { formatDuration } from './format-duration.ts'
import type { ProfilePanel } from './panel.ts'
import { asNumber, asObject, asObjects, asOptionalNumber, asText } from './read-soft.ts'

/** Creates the panel of the outgoing HTTP requests; files below the project's directory are named by their path in it. */
export function createHttpPanel(directory: string): ProfilePanel {
  return {
    name: 'http',
    label: 'HTTP Client',
    template: 'profiler/panels/http',

    hasContent: profile => read(profile).calls.length > 0,

    badge(profile) {
      const { calls, omitted } = read(profile)
      return {
        text: calls.length === 0 ? '' : String(calls.length + omitted),
        level: calls.some(({ outcome }) => outcome.level === 'error') ? 'error' : 'plain',
      }
    },

    toView({ profile }) {
      const { calls, omitted } = read(profile)
      const ended = calls.filter(({ end }) => end !== undefined)
      return {
        isEmpty: calls.length === 0,
        count: calls.length + omitted,
        omitted,
        failed: calls.filter(({ error }) => error !== '').length,
        unfinished: calls.length - ended.length,
        sum: formatDuration(ended.reduce((sum, call) => sum + durationOf(call), 0)),
        covered: formatDuration(coveredTime(ended)),
        calls: calls.map((call, index) => ({ number: index + 1, ...toRow(call, directory) })),
      }
    },
  }
}

interface Call {
  readonly client: string
  readonly method: string
  readonly url: string
  readonly start: number
  readonly sent: number | undefined
  readonly uploaded: number | undefined
  readonly head: number | undefined
  readonly end: number | undefined
  readonly bytes: number | undefined
  readonly isCounted: boolean
  readonly error: string
  readonly caller: Readonly<Record<string, unknown>>
  readonly outcome: { readonly text: string; readonly level: string }
}

function read({ data }: Profile): { calls: Call[]; omitted: number } {
  const { calls, omitted } = asObject(data.http)
  return { calls: asObjects(calls).map(toCall), omitted: asNumber(omitted) }
}

function toCall(call: Readonly<Record<string, unknown>>): Call {
  const { isCounted, error } = call
  return {
    client: asText(call.client),
    method: asText(call.method),
    url: asText(call.url),
    start: asNumber(call.start),
    sent: asOptionalNumber(call.sent),
    uploaded: asOptionalNumber(call.uploaded),
    head: asOptionalNumber(call.head),
    end: asOptionalNumber(call.end),
    bytes: asOptionalNumber(call.bytes),
    isCounted: isCounted === true,
    error: asText(error),
    caller: asObject(call.caller),
    outcome: outcomeOf(call),
  }
}

function outcomeOf({ status, end, error }: Readonly<Record<string, unknown>>): Call['outcome'] {
  const code = asNumber(status)
  if (asText(error) !== '') return { text: code === 0 ? 'failed' : `${code}, failed`, level: 'error' }
  if (asOptionalNumber(end) === undefined)
    return { text: code === 0 ? 'unfinished' : `${code}, unfinished`, level: 'plain' }
  return { text: String(code), level: code >= 500 ? 'error' : code >= 400 ? 'warning' : 'ok' }
}

function toRow(call: Call, directory: string) {
  const { client, method, url, start, end, bytes, error, outcome } = call
  return {
    client,
    method,
    url,
    outcome: outcome.text,
    level: outcome.level,
    error,
    start: formatDuration(start),
    time: end === undefined ? '' : formatDuration(durationOf(call)),
    phases: phasesOf(call),
    bytes: bytes === undefined ? '' : `${call.isCounted ? '≈ ' : ''}${formatBytes(bytes)}`,
    caller: describeCaller(call.caller, directory),
  }
}

function durationOf({ start, end = start }: Call): number {
  return Math.max(0, end - start)
}

/** What the time went to; only what is known. A server may answer before all is sent: then nothing was waited for. */
function phasesOf({ start, sent, uploaded = sent, head, end }: Call): { name: string; time: string }[] {
  const phases: [name: string, from: number | undefined, to: number | undefined][] = [
    ['queued', start, sent],
    ['sending', sent, uploaded],
    ['waiting', uploaded, head],
    ['receiving', head, end],
  ]
  return phases.flatMap(([name, from, to]) =>
    from !== undefined && to !== undefined && to > from ? [{ name, time: formatDuration(to - from) }] : [],
  )
}

/** How long at least one of the calls was under way. */
function coveredTime(calls: readonly Call[]): number {
  let covered = 0
  let reached = 0
  for (const call of calls.toSorted((a, b) => a.start - b.start)) {
    const end = call.start + durationOf(call)
    covered += Math.max(0, end - Math.max(call.start, reached))
    reached = Math.max(reached, end)
  }
  return covered
}

function describeCaller(caller: Call['caller'], directory: string): { call: string; location: string } {
  const file = asText(caller.file)
  const place = file.startsWith(directory + path.sep) ? path.relative(directory, file) : file
  const line = asOptionalNumber(caller.line)
  return { call: asText(caller.function), location: line === undefined ? place : `${place}:${line}` }
}
