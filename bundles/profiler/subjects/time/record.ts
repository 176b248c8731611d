import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { StopwatchEvent } from '../../../../lib/stopwatch/stopwatch.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorTypes } from '../../profile/profile.ts'
import { workFields } from '../../profile/work.ts'
import type { CollectorOf, ProfileCollector } from '../../record/collect.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import type { Trace } from '../../record/trace.ts'
import type { MeasuredEvent, TimeData } from './data.ts'

/** The measurements of the stopwatch, which each request has itself. */
export const timeSubject: RecordedSubject = {
  createCollectors: ({ redactor }) => [createTimeCollector(redactor)],
}

const eventLimit = 200

const periodLimit = 50

const nameLimit = 200

/** Collects the measurements of the stopwatch. All other times are derived from the event tree by the panels. */
function createTimeCollector(redactor: Redactor): CollectorOf<'time'> {
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

/** Collects how much work the sub-requests of a request have done: their profiles may be gone when it is compared. */
export function createWithinCollector(): CollectorOf<'within'> {
  return {
    name: 'within',
    collectsLate: true,
    collect({ children }) {
      if (children.length === 0) return undefined
      const sums: Record<string, number> = {}
      for (const { collected } of children) {
        // The data of the collector with this name.
        const below = collected?.data.within as CollectorTypes['within'] | undefined
        for (const field of workFields) {
          const amount = (collected?.summary[field] ?? 0) + (below?.[field] ?? 0)
          if (amount > 0) sums[field] = roundTime((sums[field] ?? 0) + amount)
        }
      }
      return Object.keys(sums).length === 0 ? undefined : sums
    },
  }
}

/** Collects that work of other collectors continued after the end of the response, and since when. */
export function createLateCollector(others: readonly ProfileCollector[]): CollectorOf<'late'> {
  return {
    name: 'late',
    collectsLate: true,
    collect(trace) {
      const { main, outcome } = trace
      const hasClientLeft = main.leftAt !== undefined && (main.outcome === 'aborted' || main.outcome === 'unfinished')
      const end = hasClientLeft ? main.leftAt : main.endedAt
      if (end === undefined || outcome === 'crashed') return undefined
      const since = main.start + end - trace.start
      if (!others.some(other => other.hasWorked?.(trace, since))) return undefined
      return { since: roundTime(since), ...(hasClientLeft && { hasClientLeft }) }
    },
  }
}
