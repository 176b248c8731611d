import { ThrownFrames } from '../../../../kernel/debug/thrown-frames.ts'
import type { RequestContext } from '../../../../kernel/request-context.ts'
import { errorChain, type FlatError, flattenError, nameOfError } from '../../../../lib/errors/flat-error.ts'
import { guard } from '../../../../lib/guard.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { MaskingCopier, maskAndCut, propertyBounds } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { toSource } from '../../../../lib/stack/source-maps.ts'
import type { FrameLocation, StackFrame } from '../../../../lib/stack/stack-frames.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import type { RecordedException, RecordedFrame } from '../../profile/code.ts'
import { roundTime } from '../../profile/format.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { Excerpt } from '../../profile/schema.ts'
import { countCommon, recordFrame } from '../../record/code-places.ts'
import { type CollectorOf, hash, routeNameOf } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { RecordedApplication, RecordedSubject } from '../../record/recorded-subject.ts'
import type { Trace } from '../../record/trace.ts'
import type { ExceptionData } from './data.ts'

/** The exceptions of requests, and the errors that end the process. */
export const exceptionSubject: RecordedSubject = {
  createCollectors: app => [new ExceptionCollector(app)],
  observeLibraries: ({ context, logger }, { profiler }) => [
    watchCrashes(profiler, context, logger.channel('profiler')),
    watchRejections(profiler, context),
  ],
}

const frameLimit = 30

const messageLimit = 4096

const textLimit = 200

const causeLimit = 10

/** Frames of the application per exception. */
const excerptLimit = 10

/**
 * Collects the exceptions with their causes, and with excerpts of the application's sources: one excerpt for an error
 * of the client, which is seldom debugged. It runs after the response was sent, and expensive work (parsing frames,
 * reading sources) is done once per place in the code.
 */
export class ExceptionCollector implements CollectorOf<'exception'> {
  readonly name = 'exception'
  readonly collectsLate = true
  readonly #directory: string
  readonly #redactor: Redactor
  readonly #sources: SourceExcerpts
  readonly #thrown: ThrownFrames
  /** Equal stacks are the same list, which is masked once. */
  readonly #frames = new WeakMap<readonly StackFrame[], readonly RecordedFrame[]>()

  constructor(app: Pick<RecordedApplication, 'controllers' | 'directory' | 'redactor' | 'routes'>) {
    const { directory, redactor } = app
    this.#directory = directory
    this.#redactor = redactor
    this.#sources = new SourceExcerpts(directory, redactor)
    this.#thrown = new ThrownFrames(app)
  }

  collect({ failedAt, lateErrors, outcome, request, response, skipped, thrown }: Trace): ExceptionData | undefined {
    if (thrown.length === 0) return undefined
    const excerpts: Excerpt[] = []
    const exceptions = withoutCauses(thrown, skipped).map(error => {
      const flat = this.#thrown.locate(flattenError(error, { mask: text => this.#text(text, messageLimit) }), request)
      // For the error page: the response to the error does not exist yet.
      const isAnswered = flat.status === response?.status || outcome === 'unfinished'
      const isClientError = (flat.status ?? 500) < 500 && isAnswered
      this.#addExcerpts(flat, isClientError, excerpts)
      return this.#record(flat, [], new MaskingCopier(this.#redactor, propertyBounds))
    })
    const at = failedAt === undefined ? {} : { at: roundTime(failedAt) }
    return { exceptions, ...at, ...(lateErrors > 0 && { late: lateErrors }), excerpts }
  }

  summarize(trace: Trace, data: ExceptionData | undefined): Partial<ProfileSummary> {
    if (data === undefined) return { exception: null, fingerprint: null }
    return {
      exception: this.#redactor.text(nameOfError(trace.error)),
      fingerprint: fingerprintOf(data, routeNameOf(trace, this.#redactor)),
    }
  }

  /** `copier` copies the properties of the whole chain. */
  #record(error: FlatError, above: readonly StackFrame[], copier: MaskingCopier): RecordedException {
    const { cause, code, errors, frames, note, properties, status } = error
    const common = countCommon(frames, above, isSame)
    const own = frames.length - common
    return {
      name: this.#text(error.name, textLimit),
      message: error.message,
      ...(code !== undefined && { code: typeof code === 'string' ? this.#text(code, textLimit) : code }),
      ...(status !== undefined && { status }),
      ...(properties && { properties: copier.record(properties) }),
      frames: this.#recorded(frames).slice(0, own),
      ...(common > 0 && { common }),
      ...(own > frameLimit && { omitted: own - frameLimit }),
      ...(note !== undefined && { note }),
      ...(errors && { errors: errors.map(inner => this.#record(inner, frames, copier)) }),
      ...(cause && { cause: this.#record(cause, frames, copier) }),
    }
  }

  #recorded(frames: readonly StackFrame[]): readonly RecordedFrame[] {
    let recorded = this.#frames.get(frames)
    if (recorded === undefined) {
      const mask = (text: string, limit: number) => this.#text(text, limit)
      recorded = frames.slice(0, frameLimit).map(frame => recordFrame(frame, this.#directory, mask))
      this.#frames.set(frames, recorded)
    }
    return recorded
  }

  /**
   * The frames of the application; without any, the innermost frame of the kernel, unless the client caused the error.
   */
  #addExcerpts(error: FlatError, isClientError: boolean, excerpts: Excerpt[]): void {
    const end = excerpts.length + (isClientError ? 1 : excerptLimit)
    const chain = errorChain(error)
    for (const { frames } of chain) this.#addExcerptsOf(frames, 'application', end, excerpts)
    if (excerpts.length > 0 || isClientError) return
    for (const { frames } of chain) this.#addExcerptsOf(frames, 'kernel', 1, excerpts)
  }

  #addExcerptsOf(
    frames: readonly StackFrame[],
    wanted: FrameLocation['origin'],
    end: number,
    excerpts: Excerpt[],
  ): void {
    for (const [index, { origin, file = '', line = 0 }] of this.#recorded(frames).entries()) {
      if (excerpts.length === end) return
      if (origin !== wanted || excerpts.some(other => other.file === file && other.line === line)) continue
      // The recorded name may be relative, or masked.
      const source = frames[index] && toSource(frames[index], this.#directory)
      const excerpt = this.#sources.find(source?.file ?? '', line)
      if (excerpt !== undefined) excerpts.push({ file, line, ...excerpt })
    }
  }

  #text(text: string, limit: number): string {
    return maskAndCut(text, limit, this.#redactor)
  }
}

/** Leaves out errors that a later error has as its cause. */
function withoutCauses(thrown: readonly unknown[], skipped: readonly unknown[]): readonly unknown[] {
  if (thrown.length === 1) return thrown
  // An error that was answered comes first, even if a listener failed because of it.
  const replaced = (error: unknown, index: number) =>
    thrown.slice(index + 1).some(later => !skipped.includes(later) && causesOf(later).includes(error))
  return thrown.filter((error, index) => !replaced(error, index))
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  let cause = readProperty(error, 'cause')
  while (cause !== undefined && causes.length < causeLimit) {
    causes.push(cause)
    cause = readProperty(cause, 'cause')
  }
  return causes
}

function isSame(one: StackFrame | undefined, other: StackFrame | undefined): boolean {
  const isSamePlace = one?.line === other?.line && one?.column === other?.column && one?.file === other?.file
  return isSamePlace && one?.function === other?.function
}

/**
 * Reports uncaught errors and unhandled rejections, and the exit of the process, to the profiler, until
 * the returned function is called. The process goes on, or ends, as it does without the profiler.
 */
function watchCrashes(profiler: Profiler, context: RequestContext, logger: Logger): () => void {
  const onCrash = guard('a crash', (error: unknown) => {
    // The work of this request has failed, possibly long after its response.
    const culprit = context.current
    const isTaken = process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()
    profiler.crash(error, culprit, isTaken)
    const token = profiler.find(culprit)?.token
    if (token !== undefined) logger.critical('The profile {profile} has the uncaught exception.', { profile: token })
  })
  const onExit = guard('the exit of the process', (code: number) => profiler.exit(code))
  process.on('uncaughtExceptionMonitor', onCrash)
  process.on('exit', onExit)
  return () => {
    process.off('uncaughtExceptionMonitor', onCrash)
    process.off('exit', onExit)
  }
}

const rejected = 'unhandledRejection'

/**
 * With these modes of `--unhandled-rejections`, the process goes on after a rejection, whether or
 * not it has a listener. `NODE_OPTIONS` may have quotes.
 */
const lenientMode = /--unhandled-rejections"?[= ]"?(?:none|warn)(?=[\s"]|$)/

/**
 * Adds the rejections that do not end the process to the profiles of their requests. A listener of
 * ours would keep the process alive that a rejection ends: it exists only as long as one of the
 * application does, or if no rejection ends the process.
 */
function watchRejections(profiler: Profiler, context: RequestContext): () => void {
  const isLenient = lenientMode.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))
  const note = guard('a rejection', (error: unknown) => profiler.crash(error, context.current, true))
  const isOther = (listener: unknown) => listener !== note
  const update = (isTaken: boolean) => {
    process.off(rejected, note)
    if (isTaken || isLenient) process.on(rejected, note)
  }
  const onAdded = guard('a listener', (name: unknown, listener: unknown) => {
    if (name === rejected && isOther(listener) && process.listeners(rejected).every(isOther)) update(true)
  })
  const onRemoved = guard('a listener', (name: unknown, listener: unknown) => {
    if (name === rejected && isOther(listener) && !process.listeners(rejected).some(isOther)) update(false)
  })
  update(process.listenerCount(rejected) > 0)
  process.on('newListener', onAdded)
  process.on('removeListener', onRemoved)
  return () => {
    process.off('newListener', onAdded)
    process.off('removeListener', onRemoved)
    process.off(rejected, note)
  }
}

/**
 * The fingerprint of the last exception: the same for each occurrence of an error, whatever its
 * message contains. It is a hash of the classes and codes of the error and its causes, and the
 * innermost place in the application: file, function, and the text of the line, so that it stays
 * when lines move. An error without such a place has that of its route; `null` without a route.
 */
export function fingerprintOf({ exceptions, excerpts }: ExceptionData, route: string | null): string | null {
  const exception = exceptions.at(-1)
  if (exception === undefined) return null
  const kinds = errorChain(exception).map(({ code = '', name }) => [name, code])
  const place = findPlace(exception, excerpts) ?? (route === null ? undefined : [route])
  if (place === undefined) return null
  return hash(JSON.stringify([kinds, ...place]))
}

function findPlace(exception: RecordedException, excerpts: readonly Excerpt[]): unknown[] | undefined {
  const frames = errorChain(exception).flatMap(({ frames }) => frames)
  const frame = frames.find(({ origin }) => origin === 'application')
  if (frame === undefined) return undefined
  const { call, file, line = 0 } = frame
  const source = excerpts.find(excerpt => excerpt.file === file && excerpt.line === line)
  return [file, call, source?.lines[line - source.start]?.trim() ?? line]
}
