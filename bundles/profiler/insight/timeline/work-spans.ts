import { readStatement } from '../../../../lib/sql/statement.ts'
import { readCalls } from '../../profile/calls.ts'
import { toOneLine } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Period } from '../../profile/periods.ts'
import type { Profile } from '../../profile/profile.ts'
import { readQueries } from '../../profile/queries.ts'
import { type Render, readRenders } from '../../profile/renders.ts'
import { createSpan, type RequestFrame, type TimelineSpan } from './span.ts'

/** Creates the spans of work that has no parent in the event tree: the times of the application, renders, queries and calls. */
export function createWorkSpans(profile: Profile, frame: RequestFrame): TimelineSpan[] {
  return [
    ...createStopwatchSpans(profile, frame),
    ...createTemplateSpans(profile, frame),
    ...createQuerySpans(profile, frame),
    ...createCallSpans(profile, frame),
  ]
}

/** Creates the spans of the HTTP client calls. */
function createCallSpans(profile: Profile, frame: RequestFrame): TimelineSpan[] {
  const link = profileLink(frame.token, 'http')
  return readCalls(profile).calls.map(({ end, error, index, method, spanId = '', start, status, url }) =>
    createSpan(
      {
        name: `${method} ${url.replace(/^https?:\/\//, '')}`.trim(),
        category: 'http',
        periods: toPeriods(start, end, frame),
      },
      {
        link: `${link}#call-${index}`,
        note: status === 0 ? '' : String(status),
        problem: problemOf(error, end),
        spanId,
      },
    ),
  )
}

/** Creates the spans of the queries. Those of one statement within the same span become one row. */
function createQuerySpans(profile: Profile, frame: RequestFrame): TimelineSpan[] {
  const names = new Map<string, string>()
  return readQueries(profile).queries.map(({ end, error, index, kind, operation, start, system, text }) => {
    const line = toOneLine(text)
    const name = kind === 'cache' ? line : (names.get(text) ?? nameStatement(operation, text, system))
    names.set(text, name)
    return createSpan(
      { name: name || line, category: kind, periods: toPeriods(start, end, frame) },
      { text: line, link: `${profileLink(frame.token, kind)}#query-${index}`, problem: problemOf(error, end) },
    )
  })
}

/** Names a statement by its operation and its first table: `SELECT … orders`; empty for a statement without a table. */
function nameStatement(operation: string, text: string, system: string): string {
  const [table] = readStatement(text, system).tables
  return table === undefined ? '' : `${operation} … ${table}`
}

/** The period of a call in milliseconds; a call without an end is drawn until the request was handled. */
function toPeriods(start: number, end: number | undefined, { handled, offset }: RequestFrame): Period[] {
  const [begin, until] = [Math.round(start * 1000), end === undefined ? handled : Math.round(end * 1000)]
  return [{ start: offset + begin, duration: Math.max(0, until - begin) }]
}

function problemOf(error: string, end: number | undefined): string {
  return error !== '' ? 'failed' : end === undefined ? 'not finished' : ''
}

/** Creates the spans of the rendered templates: of pages, with their partials within them. */
function createTemplateSpans(profile: Profile, { offset, token }: RequestFrame): TimelineSpan[] {
  const link = profileLink(token, 'templates')
  const toSpan = ({ duration, hasFailed, index, name, partials, start }: Render): TimelineSpan => {
    const periods = [{ start: offset + toMicroseconds(start), duration: toMicroseconds(duration) }]
    return createSpan(
      { name, category: 'template', periods },
      { link: `${link}#render-${index}`, problem: hasFailed ? 'failed' : '', children: partials.map(toSpan) },
    )
  }
  return readRenders(profile).pages.map(toSpan)
}

function toMicroseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1000))
}

/** Creates the spans that the application measured with the stopwatch of a request. */
function createStopwatchSpans({ collectors }: Profile, { offset }: RequestFrame): TimelineSpan[] {
  const measured = collectors.time?.measured ?? []
  return measured.map(({ category, isRunning, name, periods }) =>
    createSpan(
      {
        name,
        category: 'stopwatch',
        periods: periods.map(([start, duration]) => ({ start: offset + start, duration })),
      },
      { note: category === 'default' ? '' : category, problem: isRunning ? 'not stopped' : '' },
    ),
  )
}
