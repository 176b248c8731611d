import { existsSync } from 'node:fs'
import path from 'node:path'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import type { Request } from '../../../lib/http/request.ts'
import { isToken } from '../profile/json.ts'
import type { Profile } from '../profile/profile.ts'
import type { SamplingOptions } from '../settings.ts'
import { isOfProgram } from '../subjects/config/read.ts'
import type { Trace } from './trace.ts'

/** Which requests become profiles. */
export interface RecordingOptions {
  /** Requests are counted, not recorded, when their path begins with one of these; by default assets and probes. */
  readonly ignoredPaths?: readonly string[]
}

const ignoredByDefault: readonly string[] = [
  '/assets/',
  '/_health',
  '/.well-known/appspecific/com.chrome.devtools.json',
]

/** A client that may see debug output sends `x-profiler: off` or `on`: its request is recorded never, or always. */
const choiceHeader = 'x-profiler'

/** Decides which requests become profiles, and counts those that do not. */
export class RecordingPolicy {
  /** Whether recording is paused. */
  isPaused = false
  #ignored = 0
  readonly #ignoredPaths: readonly string[]
  readonly #sampling: SamplingOptions
  readonly #debugGate: Pick<DebugGate, 'allows'>

  /** `debugGate` allows clients to send the header `x-profiler`. */
  constructor(
    { ignoredPaths = ignoredByDefault }: RecordingOptions,
    debugGate: Pick<DebugGate, 'allows'>,
    sampling: SamplingOptions = {},
  ) {
    this.#sampling = sampling
    this.#debugGate = debugGate
    this.#ignoredPaths = ignoredPaths
  }

  /** How many main requests were not recorded. */
  get ignored(): number {
    return this.#ignored
  }

  /** Whether a main request that begins is recorded. */
  wants(request: Request): boolean {
    const { path } = request
    const { sample = 1 } = this.#sampling
    const isIgnored = this.isPaused || this.#ignoredPaths.some(start => path.startsWith(start))
    if (this.#isAskedFor(request)) return true
    if (!isIgnored && !this.#hasChosen(request, 'off') && (sample === 1 || Math.random() < sample)) return true
    this.#ignored++
    return false
  }

  /** Whether a trace becomes a profile, as far as is known now. */
  keeps({ main }: Trace): boolean {
    const { onlyErrors = false, slowerThan } = this.#sampling
    const isEach = !onlyErrors && slowerThan === undefined
    if (isEach || (onlyErrors && hasError(main)) || isSlower(main, slowerThan)) return true
    return this.#isAskedFor(main.request)
  }

  /** A replay is made for its profile, and so is a request whose client asks for it. */
  #isAskedFor(request: Request): boolean {
    return request.attributes.has(replayAttribute) || (!this.isPaused && this.#hasChosen(request, 'on'))
  }

  #hasChosen(request: Request, choice: 'on' | 'off'): boolean {
    return request.headers.get(choiceHeader)?.toLowerCase() === choice && this.#debugGate.allows(request)
  }
}

/**
 * Whether the server made a mistake. An exception of status 404 is one of the client; a stream may
 * fail after status 200.
 */
function hasError({ response, thrown }: Trace): boolean {
  const status = response?.status ?? 0
  return status >= 500 || (thrown.length > 0 && status < 400)
}

function isSlower(main: Trace, limit = Number.POSITIVE_INFINITY): boolean {
  return (main.sentAt ?? main.duration ?? main.elapsed()) > limit
}

/** The request attribute of a replay: the token of the original profile. Applications may read it. */
export const replayAttribute = '_replay_of'

declare module '../../../lib/http/request.ts' {
  interface KnownAttributes {
    /** Of a replay: the token of the original profile. */
    _replay_of: string
    /** Of a request to another server: its address, such as `127.0.0.1:3000`. */
    _server_address: string
  }
}

/** The token of the original profile of a replay; `undefined` when the profile is no replay. */
export function readOriginal(profile: Pick<Profile, 'collectors'>): string | undefined {
  const token = readAttribute(profile, replayAttribute)
  return isToken(token) ? token : undefined
}

/** The address of the server that has answered a request; `undefined` for a request of the kernel. */
export function readServerAddress(profile: Pick<Profile, 'collectors'>): string | undefined {
  const address = readAttribute(profile, '_server_address')
  return typeof address === 'string' && /^[\d.]+:\d+$|^\[[\da-f:.]+\]:\d+$/i.test(address) ? address : undefined
}

/** Whether the application in a folder is a program of its own: its profiles name no commands of `bin/console`. */
export function isOwnProgram(directory: string): boolean {
  return !existsSync(path.join(directory, 'bin/console'))
}

/** Whether the application of a profile has a console. */
export function hasConsole(profile: Pick<Profile, 'collectors' | 'process'>): boolean {
  return readServerAddress(profile) === undefined && !isOfProgram(profile.process.config)
}

function readAttribute({ collectors }: Pick<Profile, 'collectors'>, wanted: string): unknown {
  return collectors.request?.attributes.find(([name]) => name === wanted)?.[1]
}
