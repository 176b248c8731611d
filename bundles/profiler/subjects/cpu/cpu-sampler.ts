import { type Profiler, type Runtime, Session } from 'node:inspector'
import { guard } from '../../../../lib/guard.ts'
import { readClock, startTimer, stopTimer } from '../../../../lib/own-globals.ts'

/** Microseconds between two samples of the stack. */
const samplingInterval = 100

/** Options of a sampler. */
export interface CpuSamplerOptions {
  /**
   * Whether compiled code is kept. Then names may be less exact, and a measurement of coverage in the process stays
   * whole.
   */
  readonly keepsCode?: boolean
  /** Opens a session to V8; by default one of this process. */
  readonly connect?: () => Session
}

/**
 * V8's sampling profiler for this process. It costs nothing before its first use. Then its session stays open, because
 * closing a session resets the measurements of other sessions, such as the coverage of tests.
 */
export class CpuSampler {
  #session: Session | undefined
  readonly #keepsCode: boolean
  readonly #connect: () => Session

  constructor({ connect = connectHere, keepsCode = false }: CpuSamplerOptions = {}) {
    this.#keepsCode = keepsCode
    this.#connect = connect
  }

  /** Takes some milliseconds: V8 lists all functions. */
  start(): void {
    this.#session ??= this.#open()
    if (!this.#keepsCode) discardCode(this.#session)
    this.#session.post('Profiler.start')
  }

  /** Stops, and returns the samples since the start. */
  stop(): Profiler.Profile {
    const answers: Profiler.Profile[] = []
    // A session to the own thread answers before `post` returns.
    this.#session?.post('Profiler.stop', (error, result) => {
      if (error === null) answers.push(result.profile)
    })
    const [profile = nothing] = answers
    return profile
  }

  /** The names of functions by the keys of their places; see {@link findFunctionNames}. */
  findNames(functions: readonly { readonly name: string }[]): ReadonlyMap<string, string> {
    return this.#session === undefined ? new Map() : findFunctionNames(this.#session, functions)
  }

  #open(): Session {
    const session = this.#connect()
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: samplingInterval })
    return session
  }
}

/**
 * Discards compiled code. V8 attributes the time of code that was inlined, or compiled inside a loop, to the caller. V8
 * drops compiled code when a measurement of coverage begins.
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

/** The samples of one request. */
export interface SampledRequest {
  readonly profile: Profiler.Profile
  /** Milliseconds that V8 took to start; they are not part of the request. */
  readonly startup: number
  /** The number of other requests in flight, which are in the same samples. */
  readonly others: number
  /** Whether sampling ended before the request. */
  readonly isCut: boolean
}

interface CpuRecordingOptions {
  /** The number of other requests in flight at the start. */
  readonly others: number
  /** Milliseconds after which it ends in any case: a streamed response may stay open for hours. */
  readonly limit: number
  readonly onEnd: () => void
}

/** Records the samples of one request, from before its first event until its end. */
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
    this.#timer = startTimer(
      guard('the CPU profile', () => this.#stop(true)),
      limit,
    ).unref()
    const before = readClock()
    sampler.start()
    this.#startup = readClock() - before
  }

  /** Counts another request that came in. */
  noteOther(): void {
    this.#others++
  }

  /** Ends the recording and returns the samples; later calls return the same. */
  stop(): SampledRequest {
    return this.#sampled ?? this.#stop(false)
  }

  /** The names of functions by the keys of their places. */
  findNames(functions: readonly { readonly name: string }[]): ReadonlyMap<string, string> {
    return this.#sampler.findNames(functions)
  }

  #stop(isCut: boolean): SampledRequest {
    stopTimer(this.#timer)
    const profile = this.#sampler.stop()
    this.#sampled = { profile, startup: this.#startup, others: this.#others, isCut }
    this.#onEnd()
    return this.#sampled
  }
}

/** A place in a script as V8 counts it: lines and columns from 0. */
type CodePlace = Pick<Runtime.CallFrame, 'columnNumber' | 'lineNumber' | 'scriptId'>

/** A key that is equal for a call frame and for the place of its function. */
export function placeKey({ columnNumber, lineNumber, scriptId }: CodePlace): string {
  return `${scriptId}:${lineNumber}:${columnNumber}`
}

const slot = 'sinfonietta.functions'

const objectGroup = 'sinfonietta'

/** A function takes about 0.1 ms. */
const limit = 1000

/**
 * The names of functions by the keys of their places. Samples have the name in the source: an inline function of a
 * route has none there, but gets one later. Functions that V8 cannot locate are absent.
 */
function findFunctionNames(
  session: Session,
  functions: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const propertiesOf = (objectId: string, read: (found: Runtime.GetPropertiesReturnType) => void) =>
    session.post('Runtime.getProperties', { objectId, ownProperties: true }, (error, found) => {
      if (error === null) read(found)
    })
  // A session to the own thread finds objects by a global variable only.
  Reflect.set(globalThis, slot, functions.slice(0, limit))
  session.post('Runtime.evaluate', { expression: `globalThis['${slot}']`, objectGroup }, (_, { result }) => {
    propertiesOf(result.objectId ?? '', ({ result }) => {
      for (const { name, value } of result) {
        const called = functions[Number(name)]
        if (called === undefined || value?.objectId === undefined) continue
        propertiesOf(value.objectId, ({ internalProperties = [] }) => {
          const place: unknown = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value
          if (isPlace(place)) names.set(placeKey(place), called.name)
        })
      }
    })
  })
  session.post('Runtime.releaseObjectGroup', { objectGroup })
  Reflect.deleteProperty(globalThis, slot)
  return names
}

function isPlace(place: unknown): place is CodePlace {
  return typeof place === 'object' && place !== null && 'scriptId' in place
}
