import type { Request } from '../../../../lib/http/request.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { locateFrame } from '../../../../lib/stack/locate-frame.ts'
import { formatFrame } from '../../../../lib/stack/stack-frames.ts'
import type { ProfiledSession, SessionUseData } from '../../profile/exchange-data.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../collect.ts'
import type { NotedSessionUse, Trace } from '../trace.ts'
import { createCopier } from './copy.ts'

/** Collects the session if it was used; it neither starts the session nor takes anything out of it. */
export class SessionCollector implements CollectorOf<'session'> {
  readonly name = 'session'
  readonly #redactor: Redactor
  readonly #directory: string

  /** The directory of the application: files are shown as seen from it. */
  constructor(redactor: Redactor, directory: string) {
    this.#redactor = redactor
    this.#directory = directory
  }

  collect({ request, sessionUses }: Trace): ProfiledSession | undefined {
    const isStateless = request.attributes.get('_stateless') === true
    const useCount = request.requestedSession?.useCount ?? 0
    if (!isStateless && useCount === 0) return undefined
    const uses = sessionUses.map(use => this.#describeUse(use))
    return { isStateless, useCount, uses, ...this.#describeContents(request) }
  }

  #describeContents({
    requestedSession,
  }: Request): Pick<ProfiledSession, 'store' | 'metadata' | 'attributes' | 'flashes'> {
    const seen = requestedSession?.peek()
    if (seen === undefined) return {}
    const { attributes, flashes, metadata } = seen
    return {
      store: requestedSession?.storeName,
      metadata,
      attributes: createCopier(this.#redactor).record(attributes),
      flashes: createCopier(this.#redactor).record(flashes),
    }
  }

  #describeUse({ at, frames, method }: NotedSessionUse): SessionUseData {
    const trace = frames
      .map(frame => ({ ...frame, ...locateFrame(frame, this.#directory) }))
      .filter(({ origin }) => origin !== 'runtime')
      .map(formatFrame)
    return { method, at: roundTime(at), trace }
  }
}
