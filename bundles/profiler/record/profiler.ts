import { randomFillSync } from 'node:crypto'
import { RequestType, type TerminateEvent } from '../../../kernel/events.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { CpuRecording } from './cpu/cpu-sampler.ts'
import { RecordKeeper, type RecordKeeperServices } from './record-keeper.ts'
import { attachTrace, detachTrace, findTrace, removeFrom, Trace, withAncestors } from './trace.ts'
import { startUsage } from './usage-trace.ts'

/** What a profiler works with. */
export interface ProfilerServices extends RecordKeeperServices {
  /** Begins to watch the event loop, as long as requests are in flight. */
  readonly watchLoop: () => void
}

/** Looks at a main request before its trace begins, given its token and how many others are in flight; may sample it. */
export type Inspection = (request: Request, token: string, others: number) => CpuRecording | undefined

/** Makes a profile of each request that its policy wants, many at once: what is noted of a request lives on its trace. */
export class Profiler {
  readonly #services: ProfilerServices
  readonly #keeper: RecordKeeper
  // A list, where a set would be expected: see `removeFrom`.
  readonly #inFlight: Trace[] = []
  #inspection: Inspection | undefined

  constructor(services: ProfilerServices) {
    this.#services = services
    this.#keeper = new RecordKeeper(services)
  }

  /** The main requests that are not kept yet: those that are handled now, and some that have just ended. */
  get open(): Iterable<Trace> {
    return [...this.#inFlight, ...this.#keeper.ended]
  }

  /** The trace of a request, when it is recorded. */
  find(request: Request | undefined): Trace | undefined {
    return request === undefined ? undefined : findTrace(request)
  }

  /** Whether the trace, as far as is known, becomes a profile. */
  keeps(trace: Trace): boolean {
    return this.#services.policy.keeps(trace)
  }

  /** Resolves when the profile of a token is kept, should it be in the making; after a second in any case. */
  whenKept(token: string): Promise<void> {
    return this.#keeper.whenKept(token)
  }

  /** Resolves when everything that is over is kept; after a second in any case. */
  whenIdle(): Promise<void> {
    return this.#keeper.whenIdle()
  }

  /** Has each main request that is recorded looked at, by nobody else meanwhile; returns what ends that. */
  inspect(inspection: Inspection): () => void {
    this.#inspection = inspection
    return () => {
      this.#inspection = undefined
    }
  }

  /** Begins to record a request; a sub-request is recorded when its parent is. */
  begin(request: Request, type: RequestType): Trace | undefined {
    const { logger, policy } = this.#services
    const parent = this.find(request.parent)
    const isWanted = request.parent === undefined ? policy.wants(request) : parent !== undefined
    if (!isWanted) return undefined
    const token = drawToken(token => this.#keeper.knows(token))
    if (token === undefined) {
      logger.warning('A request is not profiled: no free token was found.')
      return undefined
    }
    // As Symfony marks each of its passes; nothing depends on it.
    request.attributes.set('_stopwatch_token', drawSixDigits())
    const isMain = type === RequestType.Main
    // Before the trace: its times are those of the request alone.
    const cpu = isMain ? this.#inspection?.(request, token, this.#inFlight.length) : undefined
    const trace = new Trace(token, request, type, parent)
    attachTrace(request, trace)
    this.#keeper.expect(token)
    if (isMain) {
      trace.cpu = cpu
      trace.usage = startUsage(this.#inFlight)
      this.#inFlight.push(trace)
      this.#services.watchLoop()
    }
    return trace
  }

  /** Ends the recording of a request that becomes no profile: from now on nothing of it is noted or collected. */
  dismiss(trace: Trace): void {
    detachTrace(trace.request)
    removeFrom(this.#inFlight, trace)
    trace.cpu?.stop()
    this.#keeper.forget(trace.token)
  }

  /** The request is handled. Of a sub-request it is collected now what its response is like. */
  finish(trace: Trace): void {
    trace.duration = trace.elapsed()
    if (trace.type === RequestType.Main) return
    trace.outcome = 'complete'
    this.#keeper.collect(trace)
    const { main } = trace
    // Nobody waits for a sub-request that was made by detached work, or by whoever has no trace.
    if (main.overAt !== undefined || main === trace) void this.#keeper.keepLate(trace)
  }

  /** The response of a main request was sent, or never will be: it is collected now, and kept a little later. */
  terminate(trace: Trace, { isSent, response, streamError }: TerminateEvent): void {
    removeFrom(this.#inFlight, trace)
    trace.response = response
    trace.outcome = isSent ? 'complete' : 'aborted'
    if (streamError !== undefined) {
      trace.outcome = 'stream-failed'
      trace.noteThrown(streamError)
    }
    trace.overAt = trace.elapsed()
    // Nobody awaits what goes on when the client has left: that is no news.
    if (isSent) trace.onLate = this.#keeper.onLate
    this.#keeper.collect(trace)
    // A page that was sent need not wait in memory for its record.
    trace.response = new Response(null, response)
    this.#keeper.keepSoon(trace)
  }

  /**
   * The process is about to end, because of work that was done for `culprit`, be its response sent or not. Whatever is in
   * flight is kept as it is, before this returns. Never throws.
   */
  crash(error: unknown, culprit: Request | undefined): void {
    const lineage = withAncestors(this.find(culprit))
    for (const trace of lineage) trace.noteThrown(error)
    const mains = new Set([...lineage.slice(-1), ...this.open])
    for (const main of mains) this.#keeper.keepCrashed(main, lineage)
    this.#services.storage.flushNow()
  }
}

const drawLimit = 16

/**
 * Draws a token, six hexadecimal digits, that is not known yet; `undefined` after 16 known ones in a row, which only a
 * broken source of randomness gives.
 */
export function drawToken(isKnown: (token: string) => boolean, draw: () => string = drawSixDigits): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isKnown(token)) return token
  }
  return undefined
}

const bytesOfToken = 3

/** Random bytes are had in bulk: three alone would cost as much as a thousand. */
const pool = Buffer.alloc(256 * bytesOfToken)
let drawn = pool.length

/** Six random hexadecimal digits. */
export function drawSixDigits(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  drawn += bytesOfToken
  return pool.toString('hex', drawn - bytesOfToken, drawn)
}
