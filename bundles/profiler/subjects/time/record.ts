import path from 'node:path'
import { asyncCalls } from '../../../../kernel/contracts/process-calls.ts'
import { maskChildWords } from '../../../../lib/redact/mask-child-words.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { type Caller, Callers } from '../../../../lib/stack/callers.ts'
import type { StopwatchEvent } from '../../../../lib/stopwatch/stopwatch.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorTypes } from '../../profile/profile.ts'
import { workFields } from '../../profile/work.ts'
import type { CollectorOf, ProfileCollector } from '../../record/collect.ts'
import { MoreWorkCounter } from '../../record/more-work.ts'
import type { RecordedProcess, RecordedSubject, RequestServices, Stop } from '../../record/recorded-subject.ts'
import { type Trace, TracePart } from '../../record/trace.ts'
import type { AsyncCallData, MeasuredEvent, TimeData } from './data.ts'

/** The measurements of the stopwatch, which each request has itself, and its asynchronous calls. */
export const timeSubject: RecordedSubject = {
  createCollectors: ({ redactor }) => [createTimeCollector(redactor)],
  observeLibraries: (process, services) => [observeAsyncCalls(process, services)],
}

/** Milliseconds: shorter calls are not recorded. */
const leastCall = 5

const callLimit = 100

/** Characters of a command line, those of it that are read, and its words. */
const commandLimit = { length: 200, read: 2000, words: 60 }

/**
 * Records asynchronous calls when they end. Of one that goes on, it is not known whether the request waits for it: it
 * may have started a process that others use later.
 */
function observeAsyncCalls(
  { directory, redactor }: RecordedProcess,
  { findRunning, findTrace }: RequestServices,
): Stop {
  const callers = new Callers(directory)
  return asyncCalls.observe(call => {
    const trace = findTrace()
    if (trace === undefined) return
    const caller = callers.find() ?? findRunning(trace)
    const start = trace.elapsed()
    call.end = ({ command, error, exit = 0 }) => {
      const end = trace.elapsed()
      if (end - start < leastCall) return
      asyncPart.of(trace).add({
        ...{ name: call.name, start: roundTime(start), end: roundTime(end), caller },
        ...(error !== undefined && { error: maskAndCut(nameError(error), nameLimit, redactor) }),
        ...(command !== undefined && { command: writeCommand(command, directory, redactor) }),
        ...(exit !== 0 && { exit: typeof exit === 'number' ? `exit code ${exit}` : String(exit) }),
      })
    }
  })
}

function nameError(error: unknown): string {
  const { code, name } = Object(error)
  return String(code ?? name ?? 'Error')
}

/**
 * A shell gets the whole command as one argument: `/bin/sh -c "convert a.png b.png"`. A fork gets the options of this
 * process. The places of programs, and of the application, on a machine are not recorded.
 */
function writeCommand([program = '', ...given]: readonly string[], directory: string, redactor: Redactor): string {
  const { execArgv } = process
  const values = execArgv.every((value, index) => value === given[index]) ? given.slice(execArgv.length) : given
  const [option, text] = values
  const isShell = values.length === 2 && option === '-c' && text !== undefined
  const words = isShell ? maskAndCut(text, commandLimit.read, redactor).split(' ') : [path.basename(program), ...values]
  const read = words.slice(0, commandLimit.words).map(word => maskAndCut(word, commandLimit.read, redactor))
  const line = maskChildWords(redactor.commandLine(read)).join(' ')
  return maskAndCut(line.replaceAll(`${directory}${path.sep}`, ''), commandLimit.length, redactor)
}

/** The longest asynchronous calls of a request, and the times of the others. */
class AsyncCallsTrace {
  readonly calls: (AsyncCallData & { readonly caller?: Caller | undefined })[] = []
  readonly more = new MoreWorkCounter()

  add(call: AsyncCallData): void {
    this.calls.push(call)
    if (this.calls.length <= callLimit) return
    const shortest = this.calls.reduce((one, other) => (other.end - other.start < one.end - one.start ? other : one))
    this.calls.splice(this.calls.indexOf(shortest), 1)
    this.more.add(shortest.start, shortest.end, shortest.error !== undefined)
  }
}

const asyncPart: TracePart<AsyncCallsTrace> = new TracePart(() => new AsyncCallsTrace())

const eventLimit = 200

const periodLimit = 50

const nameLimit = 200

/**
 * Collects the measurements of the stopwatch, and the asynchronous calls. All other times are derived from the event
 * tree by the panels.
 */
function createTimeCollector(redactor: Redactor): CollectorOf<'time'> {
  const toText = (text: string) => maskAndCut(text, nameLimit, redactor)
  return {
    name: 'time',
    collect(trace: Trace): TimeData | undefined {
      const events = trace.request.requestedStopwatch?.events() ?? []
      const { calls, more } = asyncPart.find(trace) ?? {}
      if (events.length === 0 && calls === undefined) return undefined
      const measured = events.slice(0, eventLimit).map(event => toMeasured(event, trace.start, toText))
      return {
        ...{ measured, dropped: events.length - measured.length },
        ...(calls !== undefined && { asyncCalls: [...calls], moreAsyncCalls: more?.toData() }),
      }
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
