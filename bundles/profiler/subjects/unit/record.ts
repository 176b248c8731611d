import { createHash } from 'node:crypto'
import { exchangeOf } from '../../../../kernel/contracts/servers.ts'
import {
  type JobAttempt,
  type JobKey,
  type MessageFailure,
  observeUnits,
  type RecordedUnit,
  type UnitEnd,
  type UnitStart,
} from '../../../../kernel/contracts/units.ts'
import type { RequestContext } from '../../../../kernel/request-context.ts'
import { guard } from '../../../../lib/guard.ts'
import { Request } from '../../../../lib/http/request.ts'
import { readClock } from '../../../../lib/own-globals.ts'
import type { CopyBounds } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { describeTree, type ValueTree } from '../../../../lib/redact/value-tree.ts'
import { Callers } from '../../../../lib/stack/callers.ts'
import { roundTime } from '../../profile/format.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, type Trace, TracePart } from '../../record/trace.ts'
import type { WaitingProfile } from '../../store/base-profile-storage.ts'
import type { UnitData } from './data.ts'

/** Work that is no request: what it was given, how it has ended, and what has caused it. */
export const unitSubject: RecordedSubject = {
  createCollectors: () => [unitCollector],
  observeProcess({ context, directory, redactor }, { findTrace, onBegin, profiler }) {
    const recorder = new UnitRecorder({ callers: new Callers(directory), context, findTrace, profiler, redactor })
    onBegin(recorder.noteBegin)
    return [observeUnits(recorder)]
  },
}

/** What the trace of work has beside the work of other subjects. */
interface UnitPart {
  data: { -readonly [field in keyof UnitData]: UnitData[field] }
  /** The token of the profile whose code has begun it. */
  cause?: string
  /** The name of the job of which it is an attempt. */
  job?: string
  /** The names of the jobs that it has put into queues. */
  readonly enqueued: string[]
  /** That it has failed, if its function does not say so. */
  failure?: MessageFailure
  /** Whether it has no profile. */
  isDropped?: boolean
}

const unitPart = new TracePart<UnitPart>(() => ({ data: {}, enqueued: [] }))

const unitCollector: CollectorOf<'unit'> = {
  name: 'unit',
  collectsLate: true,
  collect(trace) {
    const data = unitPart.find(trace)?.data
    return data === undefined || Object.keys(data).length === 0 ? undefined : data
  },
  summarize: summarizeUnit,
}

const nothing: Partial<ProfileSummary> = {}

/** Most profiles have none of these fields. */
function summarizeUnit(trace: Trace): Partial<ProfileSummary> {
  const part = unitPart.find(trace)
  if (part === undefined) return nothing
  const { cause, enqueued, job } = part
  return {
    ...(cause !== undefined && { cause }),
    ...(job !== undefined && { job }),
    ...(enqueued.length > 0 && { enqueued }),
  }
}

/** Two servers may count their jobs alike, but do not create the same job at the same time. */
function nameJob({ created, id, queue }: JobKey): string {
  return created === undefined ? `${queue}:${id}` : `${queue}:${id}:${created}`
}

/** More jobs of one profile are not linked. */
const enqueuedLimit = 20

const bounds: CopyBounds = { depth: 6, entries: 500, text: 1024, total: 16_384 }

/** Milliseconds in which jobs with the same data are counted, and how many data and jobs are known. */
const sameSpan = 60_000
const sameLimit = 200

/** The services that record work. */
interface UnitServices {
  readonly callers: Callers
  readonly profiler: Profiler
  readonly context: RequestContext
  readonly findTrace: FindTrace
  readonly redactor: Redactor
}

/**
 * The context of a process carries requests. This one only carries the trace of other work: its
 * log messages are of no request.
 */
class Carrier extends Request {
  override get id(): string {
    return ''
  }
}

/** Records the work that libraries and applications report. */
class UnitRecorder {
  readonly #services: UnitServices
  /** The trace of the command that the process runs. */
  #command: Trace | undefined
  #onLeave: (() => void) | undefined
  /** The ids of the latest jobs, by their names and data. */
  readonly #sameJobs = new Map<string, { readonly since: number; readonly ids: Set<string> }>()

  constructor(services: UnitServices) {
    this.#services = services
  }

  readonly begin = (start: UnitStart): RecordedUnit | undefined => {
    const { arguments: values, input, job, message, name, type } = start
    const { context, profiler, redactor } = this.#services
    // Before it counts as other work at the same time.
    if (this.#command !== undefined && (type === 'job' || type === 'message')) this.#drop(this.#command)
    const { cause = this.findToken() } = start
    const carrier = new Carrier({ target: '/' })
    carrier.attributes.set('_route', redactor.text(`${type} ${name}`))
    const trace = profiler.begin(carrier, type)
    if (trace === undefined) return undefined
    if (type === 'command') this.#command = trace
    const part = unitPart.of(trace)
    if (cause !== null && cause !== undefined) part.cause = cause
    if (input !== undefined) part.data.input = this.#describe(input)
    else if (values !== undefined && values.length > 0) part.data.input = this.#describe(redactor.commandLine(values))
    if (job !== undefined) {
      const { created: _, id, isScheduled: __, queue, waited, ...attempt } = job
      part.job = redactor.text(nameJob(job))
      const masked = { queue: redactor.text(queue), id: redactor.text(id) }
      part.data.job = { ...attempt, ...masked, ...(waited !== undefined && { waited: roundTime(waited) }) }
    }
    if (type === 'job') this.#noteSame(name, job, part.data)
    if (message !== undefined) {
      const { bytes, connection, event } = message
      part.data.message = {
        connection: redactor.text(connection),
        ...(event !== undefined && { event: redactor.text(event) }),
        ...(bytes !== undefined && { bytes }),
      }
    }
    return {
      run: task => context.run(carrier, task),
      enter() {
        const outer = context.current
        context.enter(carrier)
        return () => context.enter(outer)
      },
      enterProcess: onLeave => {
        context.outside = carrier
        this.#onLeave = onLeave
      },
      describeSoFar: guard('a command that goes on', ending => this.#describeSoFar(trace, ending)),
      storeSoFar: guard('a command that ends', ending => {
        const profile = this.#describeSoFar(trace, ending)
        if (profile !== undefined) profiler.storeNow(profile)
      }),
      drop: () => this.#drop(trace),
      end: guard('the end of work', ending => this.#end(trace, ending)),
    }
  }

  /** A job without data, such as one of a schedule, is always the same. */
  #noteSame(name: string, job: JobAttempt | undefined, data: UnitPart['data']): void {
    const { entries = [] } = data.input ?? {}
    if (job === undefined || job.isScheduled === true || entries.length === 0) return
    const key = createHash('sha1')
      .update(`${name}\n${JSON.stringify(data.input)}`)
      .digest('base64')
    const now = readClock()
    const known = this.#sameJobs.get(key)
    const same = known !== undefined && now - known.since < sameSpan ? known : { since: now, ids: new Set<string>() }
    if (same.ids.size < sameLimit) same.ids.add(job.id)
    this.#sameJobs.delete(key)
    this.#sameJobs.set(key, same)
    const [oldest] = this.#sameJobs.keys()
    if (this.#sameJobs.size > sameLimit && oldest !== undefined) this.#sameJobs.delete(oldest)
    if (same.ids.size > 1) data.sameJobs = same.ids.size
  }

  readonly findToken = (message?: object): string | undefined => {
    const request = message === undefined ? this.#services.context.current : exchangeOf(message)?.request
    const trace = request && this.#services.findTrace(request)
    return trace === undefined || unitPart.find(trace)?.isDropped === true ? undefined : trace.token
  }

  /** A process that handles requests or jobs is no command. Tasks may be parts of one. */
  readonly noteBegin = ({ type }: Trace): void => {
    if (this.#command !== undefined && type !== 'task' && type !== 'command') this.#drop(this.#command)
  }

  #drop(trace: Trace): void {
    if (trace.duration !== undefined) return
    this.#leaveCommand(trace)
    unitPart.of(trace).isDropped = true
    trace.duration = trace.elapsed()
    this.#services.profiler.drop(trace)
  }

  #leaveCommand(trace: Trace): void {
    if (trace !== this.#command) return
    this.#command = undefined
    this.#services.context.outside = undefined
    this.#onLeave?.()
  }

  readonly noteJob = (job: JobKey): void => {
    const { findTrace, redactor } = this.#services
    const trace = findTrace()
    if (trace === undefined) return
    const { enqueued } = unitPart.of(trace)
    if (enqueued.length < enqueuedLimit) enqueued.push(redactor.text(nameJob(job)))
  }

  readonly fail = (failure: MessageFailure): void => {
    const trace = this.#services.findTrace()
    if (trace?.type === 'message') unitPart.of(trace).failure ??= failure
  }

  #describe(value: unknown): ValueTree {
    return describeTree(value, this.#services.redactor, { bounds })
  }

  #describeSoFar(trace: Trace, ending: UnitEnd): WaitingProfile | undefined {
    if (trace.duration !== undefined) return undefined
    const part = unitPart.of(trace)
    const { data } = part
    part.data = { ...data, ...describeEnd(ending), ...(ending.signal === undefined && { isCut: true }) }
    const found = this.#services.profiler.describeSoFar(trace, ending.signal === undefined ? 'crashed' : 'failed')
    part.data = data
    return found
  }

  #end(trace: Trace, ending: UnitEnd): void {
    if (trace.duration !== undefined) return
    const { profiler } = this.#services
    this.#leaveCommand(trace)
    const { data, failure } = unitPart.of(trace)
    const { exitCode, result } = ending
    const failed = 'error' in ending ? ending : failure
    if (failed !== undefined && 'error' in failed) trace.addThrown(failed.error)
    else if (result !== undefined) data.result = this.#describe(result)
    Object.assign(data, describeEnd(ending))
    const hasFailed = failed !== undefined || (exitCode ?? 0) !== 0
    // The process ends below this call, or below none of the application.
    const { callers: _, ...exit } = (hasFailed && exitCode !== undefined && this.#services.callers.find()) || {}
    if (exit.file !== undefined) data.exit = exit
    trace.events.finish()
    profiler.finish(trace)
    profiler.end(trace, hasFailed ? 'failed' : 'complete')
  }
}

/** The fields of the end of a command, without those that say nothing. */
function describeEnd({ exitCode, open = [], signal }: UnitEnd): Partial<UnitPart['data']> {
  return {
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(open.length > 0 && { open }),
  }
}
