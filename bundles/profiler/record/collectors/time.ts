import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { StopwatchEvent } from '../../../../lib/stopwatch/stopwatch.ts'
import { isLate } from '../../profile/calls.ts'
import type { MeasuredEvent, TimeData } from '../../profile/event-data.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../collect.ts'
import type { Trace } from '../trace.ts'

const eventLimit = 200
const periodLimit = 50
const nameLimit = 200

/** Collects the measurements of the stopwatch. All other times are derived from the event tree by the panels. */
export function createTimeCollector(redactor: Redactor): CollectorOf<'time'> {
  const toText = (text: string) => maskAndCut(text, nameLimit, redactor)
  return {
    name: 'time',
    collect({ request, start }: Trace): TimeData | undefined {
      const events = request.requestedStopwatch?.events() ?? []
      if (events.length === 0) return undefined
      const measured = events.slice(0, eventLimit).map(event => toMeasured(event, start, toText))
      return { measured, dropped: events.length - measured.length }
    },
  }
}

function toMeasured(
  { category, duration, isRunning, name, origin, periods }: StopwatchEvent,
  start: number,
  toText: (text: string) => string,
): MeasuredEvent {
  const offset = origin - start
  return {
    name: toText(name),
    category: toText(category),
    periods: periods
      .slice(0, periodLimit)
      .map(({ start, end }) => [toMicroseconds(offset + start), toMicroseconds(end - start)]),
    duration: toMicroseconds(duration),
    dropped: Math.max(0, periods.length - periodLimit),
    isRunning,
  }
}

function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000)
}

/** Collects that work continued after the response was sent, and since when. */
export const lateCollector: CollectorOf<'late'> = {
  name: 'late',
  collectsLate: true,
  collect(trace) {
    const { main, outcome } = trace
    if (main.endedAt === undefined || outcome !== 'complete') return undefined
    const since = main.start + main.endedAt - trace.start
    return hasWorked(trace, since) ? { since: roundTime(since) } : undefined
  },
}

function hasWorked({ calls, logs, queries, renders }: Trace, since: number): boolean {
  if (logs.latest > since || (renders?.renders.at(-1)?.start ?? since) > since) return true
  if (queries?.queries.some(({ end = -Infinity, start }) => Math.max(start, end) > since)) return true
  return calls?.calls.some(call => isLate(call, since)) ?? false
}
