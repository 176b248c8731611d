import { type Profiler, Session } from 'node:inspector'

/** Microseconds between two looks at the stack. */
const samplingInterval = 100

/** How requests are sampled. */
export interface CpuSamplerOptions {
  /** Whether code that V8 has compiled so far stays in use, and coverage that somebody measures in the process stays whole. */
  readonly keepsCode?: boolean
  /** Opens a session to V8; one of this process unless told else. */
  readonly connect?: () => Session
}

/**
 * V8's sampling profiler, for this process. It costs nothing before its first use; from then on a session to it stays
 * open: closing one resets what other sessions measure, such as the coverage of tests.
 */
export class CpuSampler {
  #session: Session | undefined
  readonly #keepsCode: boolean
  readonly #connect: () => Session

  constructor({ connect = connectHere, keepsCode = false }: CpuSamplerOptions = {}) {
    this.#keepsCode = keepsCode
    this.#connect = connect
  }

  /** Takes some milliseconds: V8 lists all the code there is. */
  start(): void {
    this.#session ??= this.#open()
    if (!this.#keepsCode) discardCode(this.#session)
    this.#session.post('Profiler.start')
  }

  /** Gives what was seen since the start. */
  stop(): Profiler.Profile {
    const answers: Profiler.Profile[] = []
    // A session to one's own thread answers before `post` returns.
    this.#session?.post('Profiler.stop', (error, result) => {
      if (error === null) answers.push(result.profile)
    })
    const [profile = nothing] = answers
    return profile
  }

  #open(): Session {
    const session = this.#connect()
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: samplingInterval })
    return session
  }
}

/**
 * Of what was compiled before V8 does not know which function it sees at work when that was compiled into another one, or
 * while it was in a loop: the time is told of the caller. V8 lets go of such code when somebody begins to measure coverage.
 */
function discardCode(session: Session): void {
  session.post('Profiler.startPreciseCoverage')
  session.post('Profiler.stopPreciseCoverage')
}

const nothing: Profiler.Profile = { nodes: [], startTime: 0, endTime: 0 }

function connectHere(): Session {
  const session = new Session()
  session.connect()
  return session
}

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
