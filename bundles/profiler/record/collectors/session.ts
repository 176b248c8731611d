import path from 'node:path'
import type { Request } from '../../../../lib/http/request.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { SessionMetadata } from '../../../../lib/session/session-state.ts'
import { formatFrame } from '../../../../lib/stack/stack-frames.ts'
import { roundTime } from '../../profile/format.ts'
import type { ProfileCollector } from '../collect.ts'
import type { NotedSessionUse, Trace } from '../trace.ts'
import { createCopier } from './copy.ts'

/** What a profile tells of a session: never its id. */
export interface SessionData {
  /** Whether the route says that it uses no session. */
  readonly isStateless: boolean
  /** Uses on behalf of the main request and all its sub-requests, so far. */
  readonly useCount: number
  /** Uses on behalf of this very request. */
  readonly uses: readonly SessionUseData[]
  /** Absent unless somebody has started the session. */
  readonly metadata?: SessionMetadata
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Messages by type that nobody has taken yet. */
  readonly flashes?: Readonly<Record<string, unknown>>
}

/** A use of a session. */
export interface SessionUseData {
  readonly method: string
  /** Milliseconds since the start of the request. */
  readonly at: number
  /** Where, innermost call first. */
  readonly trace: readonly string[]
}

/** Tells what is in the session, if somebody has used it; it neither starts it nor takes anything out of it. */
export class SessionCollector implements ProfileCollector {
  readonly name = 'session'
  readonly #redactor: Redactor
  readonly #directory: string

  /** Files below the directory are told relative to it. */
  constructor(redactor: Redactor, directory: string) {
    this.#redactor = redactor
    this.#directory = directory + path.sep
  }

  collect({ request, sessionUses }: Trace): SessionData | undefined {
    const isStateless = request.attributes.get('_stateless') === true
    const useCount = request.requestedSession?.useCount ?? 0
    if (!isStateless && useCount === 0) return undefined
    const uses = sessionUses.map(use => this.#describeUse(use))
    return { isStateless, useCount, uses, ...this.#describeContents(request) }
  }

  #describeContents({ requestedSession }: Request): Pick<SessionData, 'metadata' | 'attributes' | 'flashes'> {
    const seen = requestedSession?.peek()
    if (seen === undefined) return {}
    const { attributes, flashes, metadata } = seen
    return {
      metadata,
      attributes: createCopier(this.#redactor).record(attributes),
      flashes: createCopier(this.#redactor).record(flashes),
    }
  }

  #describeUse({ at, frames, method }: NotedSessionUse): SessionUseData {
    const trace = frames
      .filter(({ origin }) => origin !== 'runtime')
      .map(frame => formatFrame(frame).replace(this.#directory, ''))
    return { method, at: roundTime(at), trace }
  }
}
