import type { Profiler } from 'node:inspector'
import type { CpuSampler } from './cpu-sampler.ts'

/** What V8 has seen while a request was handled. */
export interface SampledRequest {
  readonly profile: Profiler.Profile
  /** Milliseconds that V8 took to begin; they are not part of the request. */
  readonly startup: number
  /** Requests that were in flight as well, which are in the same samples. */
  readonly others: number
  /** Whether it ended before the request did. */
  readonly isCut: boolean
}

/** How a recording is made. */
export interface CpuRecordingOptions {
  /** How many other requests are in flight already. */
  readonly others: number
  /** Milliseconds after which it ends in any case: a page that is streamed may stay open for hours. */
  readonly limit: number
  readonly onEnd: () => void
}

/** The samples of one request, from before its first event until it is over. */
export class CpuRecording {
  readonly #sampler: CpuSampler
  readonly #onEnd: () => void
  readonly #startup: number
  readonly #timer: NodeJS.Timeout
  #others: number
  #sampled: SampledRequest | undefined

  constructor(sampler: CpuSampler, { limit, onEnd, others }: CpuRecordingOptions) {
    this.#sampler = sampler
    this.#onEnd = onEnd
    this.#others = others
    this.#timer = setTimeout(() => this.#stop(true), limit).unref()
    const before = performance.now()
    sampler.start()
    this.#startup = performance.now() - before
  }

  /** Another request has come in meanwhile. */
  noteOther(): void {
    this.#others++
  }

  /** Ends it, and gives what was seen, now and whenever it is asked for again. */
  stop(): SampledRequest {
    return this.#sampled ?? this.#stop(false)
  }

  #stop(isCut: boolean): SampledRequest {
    clearTimeout(this.#timer)
    const profile = this.#sampler.stop()
    this.#sampled = { profile, startup: this.#startup, others: this.#others, isCut }
    this.#onEnd()
    return this.#sampled
  }
}
