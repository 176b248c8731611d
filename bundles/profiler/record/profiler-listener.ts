import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ExceptionEvent, ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { SpanRow } from '../profile/event-data.ts'
import { formatCount, roundTime } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import { joinPeriods, totalOf } from '../profile/periods.ts'
import type { Profiler } from './profiler.ts'
import type { Trace } from './trace.ts'

/** The priority of Symfony's profiler: after the error was logged, and before it is answered. */
const exceptionPriority = 0

/** Symfony's priority. Later listeners add only the headers of the session and for robots. */
const responsePriority = -100

/** The services that the listener uses. */
export interface ProfilerListenerServices {
  readonly profiler: Profiler
  readonly debugGate: DebugGate
}

/** Records errors, and names the profile in the headers of the response. */
export class ProfilerListener {
  readonly #services: ProfilerListenerServices

  constructor(services: ProfilerListenerServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'onException', exceptionPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  onException({ error, request }: ExceptionEvent): void {
    this.#services.profiler.find(request)?.addThrown(error)
  }

  onResponse({ isMainRequest, request, response: { headers } }: ResponseEvent): void {
    const { debugGate, profiler } = this.#services
    const trace = profiler.find(request)
    if (trace === undefined || !profiler.keeps(trace) || !debugGate.allows(request)) return
    nameProfile(headers, request, trace.token)
    if (isMainRequest) headers.append('server-timing', toServerTiming(trace))
  }
}

/**
 * Writes the Server-Timing header (W3C Server Timing): where the time of a request went, in milliseconds, as far as it
 * is known when the response is built. The time of the controller includes its templates, queries and HTTP client calls.
 * `profile` is the token: scripts of the same origin can read it without a patch of `fetch`.
 */
export function toServerTiming(trace: Trace): string {
  const total = trace.elapsed()
  const controller = findControllerTime(trace.events.rows)
  const templates = sumOver(trace, templateTime)
  const http = sumOver(trace, callTime)
  const { method } = trace.request
  const metrics = [`profile;desc="${trace.token}"`, toMetric('total', 'Total', total)]
  // The browser does not report the method of a request to scripts: the toolbar lists it. GET is usual.
  if (method !== 'GET' && /^[A-Z]{1,20}$/.test(method)) metrics.push(`method;desc="${method}"`)
  if (controller > 0) {
    metrics.push(toMetric('kernel', 'Kernel and listeners', Math.max(0, total - controller)))
    metrics.push(toMetric('ctrl', 'Controller', controller))
  }
  if (templates > 0) metrics.push(toMetric('tpl', 'Templates', templates))
  metrics.push(...toQueryMetrics(trace))
  if (http > 0) metrics.push(toMetric('http', 'HTTP client calls', http))
  return metrics.join(', ')
}

function toMetric(name: string, description: string, duration: number): string {
  return `${name};desc="${description}";dur=${roundTime(duration)}`
}

function toQueryMetrics(trace: Trace): string[] {
  const metrics: string[] = []
  const queries = sumOver(trace, ({ queries }) => queries?.databaseCount ?? 0)
  const cacheCalls = sumOver(trace, ({ queries }) => queries?.cacheCount ?? 0)
  const timeOf = (kind: 'database' | 'cache') => sumOver(trace, ({ queries }) => queries?.time(kind) ?? 0)
  if (queries > 0) metrics.push(toMetric('db', formatCount(queries, 'query', 'queries'), timeOf('database')))
  if (cacheCalls > 0) metrics.push(toMetric('cache', formatCount(cacheCalls, 'cache call'), timeOf('cache')))
  return metrics
}

/** The sum over a request and all of its sub-requests. */
function sumOver(trace: Trace, measure: (trace: Trace) => number): number {
  return trace.children.reduce((sum, child) => sum + sumOver(child, measure), measure(trace))
}

const afterController: readonly string[] = ['kernel.view', 'kernel.response', 'kernel.exception']

/** From the end of the last event before the controller to the next event; 0 without a controller. */
function findControllerTime(rows: readonly SpanRow[]): number {
  let start: number | undefined
  for (const [mark, name, at, duration] of rows) {
    if (mark !== null) continue
    if (name === 'kernel.controller_arguments' && duration !== null) start = at + duration
    else if (start !== undefined && afterController.includes(name)) return (at - start) / 1000
  }
  return 0
}

function templateTime({ renders }: Trace): number {
  return renders?.renders.reduce((sum, { duration, parent }) => (parent === -1 ? sum + duration : sum), 0) ?? 0
}

/** The time of the HTTP client calls; overlapping calls count once. */
function callTime(trace: Trace): number {
  if (trace.calls === undefined) return 0
  const now = trace.elapsed()
  return totalOf(joinPeriods(trace.calls.calls.map(({ end = now, start }) => ({ start, duration: end - start }))))
}

/**
 * Names the profile of a request in the headers of its response. If the response came from a sub-request, it names the
 * profile of the sub-request already: that becomes the previous profile.
 */
export function nameProfile(headers: Headers, request: Request, token: string): void {
  const previous = headers.get('x-debug-token')
  if (previous !== null) headers.set('x-previous-debug-token', previous)
  headers.set('x-debug-token', token)
  headers.set('x-debug-token-link', `${request.origin}${profileLink(token)}`)
}
