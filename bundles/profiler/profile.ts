/** Raised whenever records of the version before can no longer be read. */
export const schemaVersion = 1

/** How a kernel pass ended: with its response sent, its client gone, its stream failed, the process ended, or not so far. */
export type Outcome = 'complete' | 'aborted' | 'stream-failed' | 'crashed' | 'unfinished'

/** What the list shows of a profile, and what it can be searched and sorted by. Masked, like everything in a profile. */
export interface ProfileSummary {
  /** Six lower-case hexadecimal digits. An identifier, not a secret. */
  readonly token: string
  /** The token of the request that this sub-request was made by; `null` of a main request. */
  readonly parent: string | null
  readonly type: 'request'
  readonly outcome: Outcome
  /** 0 when there was no response. */
  readonly status: number
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly route: string | null
  readonly controller: string | null
  /** The response's content type. */
  readonly contentType: string | null
  /** When it began, in milliseconds since 1970. */
  readonly time: number
  /** Milliseconds until the last byte was sent, or sending has ended; of a sub-request, until `kernel.finish_request`. */
  readonly duration: number
  /** Bytes of the process's heap in use when it ended. */
  readonly memory: number
  /** The name of the class of what was thrown. */
  readonly exception: string | null
  /** Log records of level error and above. */
  readonly errors: number
  /** Log records of level warning. */
  readonly warnings: number
  /** Outgoing HTTP requests. */
  readonly calls: number
  readonly subRequests: number
}

/** All that is known of one kernel pass, as plain JSON: pages, JSON, Markdown and console output are renderings of it. */
export interface Profile {
  readonly schemaVersion: typeof schemaVersion
  readonly summary: ProfileSummary
  /** The tokens of its sub-requests, in the order in which they began. */
  readonly children: readonly string[]
  /** What each collector has told, by its name. */
  readonly data: Readonly<Record<string, unknown>>
  /** The messages of the collectors that failed, by their names. */
  readonly failures: Readonly<Record<string, string>>
}

/** What is the same for all requests of a process, by the name of the collector that tells it. */
export type ProcessFacts = Readonly<Record<string, unknown>>
