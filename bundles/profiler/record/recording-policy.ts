import type { DebugGate } from '../../../kernel/debug-gate.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Profile } from '../profile/profile.ts'
import { isToken } from '../profile/schema.ts'
import type { Trace } from './trace.ts'

/** Which requests become profiles. */
export interface RecordingOptions {
  /** Requests are counted, not recorded, when their path begins with one of these; by default assets and probes. */
  readonly ignoredPaths?: readonly string[]
  /** Whether only requests with an exception become profiles. */
  readonly onlyExceptions?: boolean
}

const ignoredByDefault: readonly string[] = [
  '/assets/',
  '/_health',
  '/.well-known/appspecific/com.chrome.devtools.json',
]

/** A client that may see debug output keeps a request from being recorded with `x-profiler: off`. */
const optOutHeader = 'x-profiler'

/** Decides which requests become profiles, and counts those that do not. */
export class RecordingPolicy {
  /** Whether recording is paused. */
  isPaused = false
  #ignored = 0
  readonly #ignoredPaths: readonly string[]
  readonly #onlyExceptions: boolean
  readonly #debugGate: Pick<DebugGate, 'allows'>

  /** `debugGate` allows clients to send the header `x-profiler: off`. */
  constructor(
    { ignoredPaths = ignoredByDefault, onlyExceptions = false }: RecordingOptions,
    debugGate: Pick<DebugGate, 'allows'>,
  ) {
    this.#debugGate = debugGate
    this.#ignoredPaths = ignoredPaths
    this.#onlyExceptions = onlyExceptions
  }

  /** How many main requests were not recorded. */
  get ignored(): number {
    return this.#ignored
  }

  /** Whether a main request that begins is recorded. */
  wants(request: Request): boolean {
    const { attributes, headers, path } = request
    const isIgnored = this.isPaused || this.#ignoredPaths.some(start => path.startsWith(start))
    const isOff = headers.get(optOutHeader)?.toLowerCase() === 'off' && this.#debugGate.allows(request)
    if (!isIgnored && !isOff) return true
    // A replay is made for its profile.
    if (attributes.has(replayAttribute)) return true
    this.#ignored++
    return false
  }

  /** Whether a trace becomes a profile, as far as is known now. */
  keeps({ main }: Trace): boolean {
    return !this.#onlyExceptions || main.thrown.length > 0 || main.request.attributes.has(replayAttribute)
  }
}

/** The request attribute of a replay: the token of the original profile. Applications may read it. */
export const replayAttribute = '_replay_of'

declare module '../../../lib/http/attributes.ts' {
  interface KnownAttributes {
    /** Of a replay: the token of the original profile. */
    _replay_of: string
  }
}

/** The token of the original profile of a replay; `undefined` when the profile is no replay. */
export function readOriginal({ collectors }: Pick<Profile, 'collectors'>): string | undefined {
  const { attributes = [] } = collectors.request ?? {}
  const token = attributes.find(([name]) => name === replayAttribute)?.[1]
  return isToken(token) ? token : undefined
}
