import type { Request } from '../../../lib/http/request.ts'
import type { Profile } from '../profile/profile.ts'
import { asList, asObject } from '../profile/read-soft.ts'
import { isToken } from '../profile/schema.ts'
import type { Trace } from './trace.ts'

/** Which requests become profiles. */
export interface RecordingOptions {
  /** What paths begin with that are not recorded, only counted; assets and probes unless told else. */
  readonly ignoredPaths?: readonly string[]
  /** Whether only requests become profiles that an exception was thrown in. */
  readonly onlyExceptions?: boolean
}

const noise: readonly string[] = ['/assets/', '/_health', '/.well-known/appspecific/com.chrome.devtools.json']

/** A client that may see debug output keeps a request from being recorded with `x-profiler: off`. */
const optOutHeader = 'x-profiler'

/** Decides which requests become profiles, and counts those that do not. */
export class RecordingPolicy {
  /** Whether nothing is recorded for now. */
  isPaused = false
  #ignored = 0
  readonly #ignoredPaths: readonly string[]
  readonly #onlyExceptions: boolean
  readonly #allows: (request: Request) => boolean

  /** `allows` says which clients may keep their requests from being recorded. */
  constructor(
    { ignoredPaths = noise, onlyExceptions = false }: RecordingOptions = {},
    allows: (request: Request) => boolean = () => true,
  ) {
    this.#allows = allows
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
    const isOff = headers.get(optOutHeader)?.toLowerCase() === 'off' && this.#allows(request)
    if (!isIgnored && !isOff) return true
    // Somebody has asked for it, to see what becomes of it.
    if (attributes.has(replayAttribute)) return true
    this.#ignored++
    return false
  }

  /** Whether a trace, as far as is known, becomes a profile. */
  keeps({ main }: Trace): boolean {
    return !this.#onlyExceptions || main.thrown.length > 0 || main.request.attributes.has(replayAttribute)
  }
}

/** The attribute of a request that repeats another: the token of that one's record. Applications may look at it, too. */
export const replayAttribute = '_replay_of'

/** The token of the record that a profile is a replay of; `undefined` when it is none. */
export function readOriginal({ data }: Pick<Profile, 'data'>): string | undefined {
  const attributes = asList(asObject(asObject(data).request).attributes).map(asList)
  const token = attributes.find(([name]) => name === replayAttribute)?.[1]
  return isToken(token) ? token : undefined
}
