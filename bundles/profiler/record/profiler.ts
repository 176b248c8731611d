import { randomInt } from 'node:crypto'
import type { TerminateEvent } from '../../../kernel/events.ts'
import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { CpuRecording } from './cpu/cpu-sampler.ts'
import { ProfileWriter, type ProfileWriterServices } from './profile-writer.ts'
import { attachedTrace, attachTrace, removeFrom, Trace, type WarmKinds, withAncestors } from './trace.ts'
import { startUsage } from './usage-trace.ts'

declare module '../../../lib/http/attributes.ts' {
  interface KnownAttributes {
    /** Six random hexadecimal digits on each recorded request. */
    _stopwatch_token: string
  }
}

/** The services that a profiler uses. */
export interface ProfilerServices extends ProfileWriterServices {
  /** Starts to watch the event loop, which lasts as long as requests are in flight. */
  readonly watchLoop: () => void
  /** Whether a main request is one for the profiler's own pages, which are not recorded. */
  readonly isForProfiler: (request: Request) => boolean
}

/**
 * Called before a main request is traced, with its token and the number of other requests in flight. Returns the
 * recording of its CPU samples if the request is sampled.
 */
export type SampleStart = (request: Request, token: string, others: number) => CpuRecording | undefined

/** The first main requests of a process load code that all share. */
const coldRequests = 3

/**
 * Records requests, many at once: `begin` a trace, `finish` it when the request is handled, `end` it when the response
 * was sent. The writer then makes profiles of the traces. `RequestRecorder` makes these calls; listeners and watches
 * add to the trace that `find` gives them.
 */
export class Profiler {
  readonly #services: ProfilerServices
  readonly #writer: ProfileWriter
  // A list instead of a set: see `removeFrom`.
  readonly #inFlight: Trace[] = []
  readonly #draw: () => string
  #startSample: SampleStart | undefined
  #handled = 0
  #warm: WarmKinds = new Map()

  constructor(services: ProfilerServices) {
    this.#services = services
    services.signals.on('files.changed', () => {
      this.#warm = new Map()
    })
    this.#writer = new ProfileWriter(services)
    this.#draw = services.storage.isShared === true ? () => drawSixDigits() + drawSixDigits() : drawSixDigits
  }

  /** The main requests that are not written yet: those in flight, and some that have just ended. */
  get unwritten(): Iterable<Trace> {
    return [...this.#inFlight, ...this.#writer.ended]
  }

  /** The trace of a request; `undefined` when it is not recorded. */
  find(request: Request | undefined): Trace | undefined {
    return request === undefined ? undefined : attachedTrace(request)
  }

  /** Whether a trace becomes a profile, as far as is known now. */
  keeps(trace: Trace): boolean {
    return this.#services.policy.keeps(trace)
  }

  /**
   * Resolves when the profile of a token is written, at once when none is expected, and after one second in any case.
   */
  whenWritten(token: string): Promise<void> {
    return this.#writer.whenWritten(token)
  }

  /** Resolves when every ended request is written, and after one second in any case. */
  whenIdle(): Promise<void> {
    return this.#writer.whenIdle()
  }

  /** Sets the function that may sample a main request; the returned function removes it. */
  sampleWith(startSample: SampleStart): () => void {
    this.#startSample = startSample
    return () => {
      this.#startSample = undefined
    }
  }

  /** Begins the trace of a request that is to be recorded; a sub-request is recorded if its parent is. */
  begin(request: Request): Trace | undefined {
    const { isForProfiler, logger, policy } = this.#services
    const parent = this.find(request.parent)
    const isWanted =
      request.parent === undefined ? !isForProfiler(request) && policy.wants(request) : parent !== undefined
    if (!isWanted) return undefined
    const token = drawToken(token => this.#writer.knows(token), this.#draw)
    if (token === undefined) {
      logger.warning('A request is not profiled: no free token was found.')
      return undefined
    }
    // Symfony's profiler marks each request in the same way. The request panel shows it; nothing reads it.
    request.attributes.set('_stopwatch_token', drawSixDigits())
    const isMain = request.parent === undefined
    // Before the trace is created: its times do not include the start of the sampling.
    const cpu = isMain ? this.#startSample?.(request, token, this.#inFlight.length) : undefined
    const trace = new Trace(token, request, parent)
    trace.warm = this.#warm
    trace.isCold = this.#handled < coldRequests
    attachTrace(request, trace)
    this.#writer.expect(token)
    if (isMain) {
      trace.cpu = cpu
      trace.usage = startUsage(this.#inFlight)
      this.#inFlight.push(trace)
      this.#services.watchLoop()
    }
    return trace
  }

  /**
   * Called when a request is handled. A sub-request is complete: it is collected now, while its response exists. A stream
   * of events may stay open for hours: its profile is written now, and again at the end.
   */
  finish(trace: Trace): void {
    trace.duration = trace.elapsed()
    if (!takeWarmth(trace)) trace.isCold = true
    if (trace.request.parent === undefined) {
      this.#handled++
      if (trace.response instanceof EventStream) void this.#writer.writeOpen(trace)
      return
    }
    trace.outcome = 'complete'
    this.#writer.collect(trace)
    const { main } = trace
    // Late work has made the sub-request: its main request is written already.
    if (main.endedAt !== undefined) void this.#writer.writeLate(trace)
  }

  /**
   * Called when the response of a main request was sent, or cannot be sent. The trace is collected now, and written in
   * the background.
   */
  end(trace: Trace, { isSent, response, sentBytes, streamError }: TerminateEvent): void {
    removeFrom(this.#inFlight, trace)
    trace.response = response
    trace.sentBytes = sentBytes
    trace.outcome = isSent ? 'complete' : 'aborted'
    if (streamError !== undefined) {
      trace.outcome = 'stream-failed'
      trace.addThrown(streamError)
    }
    trace.endedAt = trace.elapsed()
    // Work that goes on after the client has left is expected, and not late.
    if (isSent) trace.onLate = this.#writer.updateSoon
    // The collectors are most of the cost of a profile.
    if (this.keeps(trace)) this.#writer.collect(trace)
    // The body of the response need not stay in memory until the profile is written. That of a WebSocket has none.
    if (response.body !== null) trace.response = new Response(null, response)
    trace.page = undefined
    this.#writer.write(trace)
  }

  /**
   * Called before the process ends because of an error in the work of `culprit`, whose response may have been sent.
   * Writes all requests in flight before it returns. Never throws.
   */
  crash(error: unknown, culprit: Request | undefined): void {
    const lineage = withAncestors(this.find(culprit))
    for (const trace of lineage) trace.addThrown(error)
    const mains = new Set([...lineage.slice(-1), ...this.unwritten])
    for (const main of mains) this.#writer.writeCrashed(main, lineage)
    this.#services.storage.flushNow()
  }
}

/** Whether a handled request began when its kind was warm. Its kind is warm from now on. */
function takeWarmth({ controller, request, start, warm }: Trace): boolean {
  const kind = (request.parent === undefined ? request.attributes.get('_route') : controller) ?? ''
  const since = warm?.get(kind)
  if (since === undefined) warm?.set(kind, performance.now())
  return since !== undefined && since <= start
}

const drawLimit = 16

/** Draws a free token, by default of six hexadecimal digits; `undefined` after 16 taken tokens in a row. */
export function drawToken(isTaken: (token: string) => boolean, draw: () => string = drawSixDigits): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isTaken(token)) return token
  }
  return undefined
}

/** `randomInt` draws its random bytes in bulk: 0.1 µs, where three bytes of `randomBytes` take 2 µs. */
function drawSixDigits(): string {
  return randomInt(0x1000000).toString(16).padStart(6, '0')
}
