import {
  type FieldCall,
  type FieldObserver,
  type FieldRun,
  observeFields,
} from '../../../../kernel/contracts/fields.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { enterField } from '../../record/running-field.ts'
import { type FindTrace, type Trace, TracePart } from '../../record/trace.ts'
import { pathPatternOf } from './read.ts'

/** The resolvers of fields, and their errors. */
export const graphqlSubject: RecordedSubject = {
  createCollectors: ({ redactor }) => [createFieldsCollector(redactor)],
  observeRequests: (_, { findTrace }) => [observeFields(createFieldObserver(findTrace))],
}

const fieldLimit = 200

/** Calls with details: the first ones, and further ones that failed or were slow. */
const callLimit = { first: 100, failed: 50, slow: 50 }

/** Milliseconds. */
const slowCall = 50

/** The numbers of a field. */
interface FieldCounter {
  readonly name: string
  count: number
  failed: number
  longest: number
  /** The times in which a call was not over, until the last time when none was; and their milliseconds. */
  readonly periods: [start: number, duration: number][]
  time: number
  /** The calls that are not over, and when the first one of them began. */
  open: number
  since: number
}

interface TracedCall {
  readonly field: number
  readonly path: () => string
  readonly start: number
  end?: number
  hasFailed?: true
}

/** The fields of one request. */
class FieldsTrace {
  readonly fields: FieldCounter[] = []
  readonly calls: TracedCall[] = []
  omitted = 0
  readonly #indices = new Map<string, number>()
  readonly #kept = { failed: 0, slow: 0 }
  /** The paths without the positions in lists whose error is recorded. */
  readonly #failures = new Set<string>()

  begin({ field, path }: FieldCall, start: number): TracedCall {
    const call: TracedCall = { field: this.#indexOf(field), path, start: roundTime(start) }
    const counter = this.#fieldOf(call)
    counter.count++
    if (counter.open++ === 0) counter.since = call.start
    if (this.calls.length < callLimit.first) this.calls.push(call)
    else this.omitted++
    return call
  }

  end(call: TracedCall, end: number, hasFailed: boolean): void {
    call.end = roundTime(end)
    if (hasFailed) call.hasFailed = true
    const duration = call.end - call.start
    const field = this.#fieldOf(call)
    if (--field.open === 0) addPeriod(field, call.end)
    field.longest = Math.max(field.longest, duration)
    if (hasFailed) field.failed++
    const kind = hasFailed ? 'failed' : duration >= slowCall ? 'slow' : undefined
    if (kind === undefined || this.#kept[kind] === callLimit[kind] || this.calls.includes(call)) return
    this.#kept[kind]++
    this.omitted--
    this.calls.push(call)
  }

  /** Whether an error is the first one of its field. */
  isNewFailure(path: string): boolean {
    const pattern = pathPatternOf(path)
    if (this.#failures.has(pattern)) return false
    this.#failures.add(pattern)
    return true
  }

  #indexOf(name: string): number {
    const known = this.#indices.get(name)
    if (known !== undefined) return known
    if (this.fields.length >= fieldLimit && name !== others) return this.#indexOf(others)
    const index =
      this.fields.push({ name, count: 0, failed: 0, longest: 0, periods: [], time: 0, open: 0, since: 0 }) - 1
    this.#indices.set(name, index)
    return index
  }

  #fieldOf({ field }: TracedCall): FieldCounter {
    // Its index is that of a field.
    return this.fields[field] as FieldCounter
  }
}

/** Further ones are added to the last one: their sum stays right. */
const periodLimit = 100

/** Milliseconds. */
const leastGap = 0.1

/** All calls of a field are over. */
function addPeriod(field: FieldCounter, end: number): void {
  const { periods, since } = field
  const duration = end - since
  field.time += duration
  const last = periods.at(-1)
  if (last !== undefined && since - (last[0] + last[1]) < leastGap) last[1] = end - last[0]
  else if (last !== undefined && periods.length === periodLimit) last[1] += duration
  else periods.push([since, duration])
}

/** All fields over the limit. */
const others = '…'

const fieldsPart: TracePart<FieldsTrace> = new TracePart(() => new FieldsTrace())

function createFieldObserver(findTrace: FindTrace): FieldObserver {
  return {
    begin(call) {
      const trace = findTrace()
      return trace && beginCall(call, trace)
    },
    fail(error, path) {
      const trace = findTrace()
      if (trace !== undefined && fieldsPart.of(trace).isNewFailure(path)) trace.addThrown(error)
    },
  }
}

function beginCall(call: FieldCall, trace: Trace): FieldRun {
  const fields = fieldsPart.of(trace)
  const traced = fields.begin(call, trace.elapsed())
  return {
    leave: enterField({ field: call.field, trace }),
    end(hasFailed) {
      if (traced.end !== undefined) return
      fields.end(traced, trace.elapsed(), hasFailed)
      trace.touch()
    },
  }
}

function describe({ count, failed, longest, name, open, periods, since, time }: FieldCounter, now: number) {
  const running: FieldCounter['periods'] = open === 0 ? [] : [[since, now - since]]
  const all = [...periods, ...running].map(
    ([start, duration]) => [roundTime(start), roundTime(duration)] as [number, number],
  )
  const more = open === 0 ? 0 : now - since
  return { name, count, failed, time: roundTime(time + more), periods: all, longest: roundTime(longest) }
}

function createFieldsCollector(redactor: Redactor): CollectorOf<'graphql'> {
  return {
    name: 'graphql',
    collectsLate: true,
    collect(trace) {
      const part = fieldsPart.find(trace)
      // An error may be of a field without a resolver.
      if (part === undefined || part.fields.length === 0) return undefined
      return {
        fields: part.fields.map(field => describe(field, trace.elapsed())),
        calls: part.calls.map(call => ({ ...call, path: redactor.text(call.path()) })),
        omitted: part.omitted,
      }
    },
  }
}
