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
