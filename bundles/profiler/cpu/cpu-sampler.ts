import { type Profiler, Session } from 'node:inspector'

/** Microseconds between two looks at the stack. */
export const samplingInterval = 100

/**
 * V8's sampling profiler, for this process. It costs nothing before its first use; from then on a session to it stays
 * open: closing one resets what other sessions measure, such as the coverage of tests.
 */
export class CpuSampler {
  #session: Session | undefined

  /** Takes some milliseconds: V8 lists all the code there is. @throws when V8 does not allow it */
  start(): void {
    const session = this.#session ?? connect()
    this.#session = session
    session.post('Profiler.start', throwAny)
  }

  /** @throws when it was not started */
  stop(): Profiler.Profile {
    const results: Profiler.Profile[] = []
    this.#session?.post('Profiler.stop', (error, { profile }) => {
      throwAny(error)
      results.push(profile)
    })
    // A session to one's own thread answers before `post` returns.
    const [profile] = results
    if (profile === undefined) throw new Error('V8 has given no profile.')
    return profile
  }
}

function connect(): Session {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable', throwAny)
  session.post('Profiler.setSamplingInterval', { interval: samplingInterval }, throwAny)
  return session
}

function throwAny(error: Error | null): void {
  if (error) throw error
}
