import { roundTime } from '../profile/format.ts'
import type { SpanRow } from '../profile/span-rows.ts'
import type { Metric, ProfileCollector } from './collect.ts'
import { type Trace, withDescendants } from './trace.ts'

/**
 * Writes the Server-Timing header (W3C Server Timing): where the time of a request went, in milliseconds, as far as it
 * is known when the response is built. The time of the controller includes its templates, queries and HTTP client calls.
 * `profile` is the token: scripts of the same origin can read it without a patch of `fetch`.
 */
export function toServerTiming(trace: Trace, collectors: readonly ProfileCollector[]): string {
  const total = trace.elapsed()
  const controller = findControllerTime(trace.events.rows)
  const { method } = trace.request
  const metrics = [`profile;desc="${trace.token}"`, toMetric(['total', 'Total', total])]
  // The browser does not report the method of a request to scripts: the toolbar lists it. GET is usual.
  if (method !== 'GET' && /^[A-Z]{1,20}$/.test(method)) metrics.push(`method;desc="${method}"`)
  if (controller > 0) {
    metrics.push(toMetric(['kernel', 'Kernel and listeners', Math.max(0, total - controller)]))
    metrics.push(toMetric(['ctrl', 'Controller', controller]))
  }
  const traces = withDescendants(trace)
  for (const collector of collectors) {
    for (const metric of collector.measure?.(traces) ?? []) metrics.push(toMetric(metric))
  }
  return metrics.join(', ')
}

function toMetric([name, description, duration]: Metric): string {
  return `${name};desc="${description}";dur=${roundTime(duration)}`
}

const afterController: readonly string[] = ['kernel.view', 'kernel.response', 'kernel.exception']

/** The milliseconds from the end of the last event before the controller to the next event; 0 without a controller. */
function findControllerTime(rows: readonly SpanRow[]): number {
  let start: number | undefined
  for (const [mark, name, at, duration] of rows) {
    if (mark !== null) continue
    if (name === 'kernel.controller_arguments' && duration !== null) start = at + duration
    else if (start !== undefined && afterController.includes(name)) return (at - start) / 1000
  }
  return 0
}
