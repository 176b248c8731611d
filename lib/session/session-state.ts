import { type Flashes, SessionContents } from './session-contents.ts'
import type { SessionData, SessionStore } from './session-store.ts'

/** The end of a session: the first of the two counts. */
export interface SessionTimes {
  /** Seconds from its creation, however much it is used. */
  readonly lifetime: number
  /** Seconds from its last use, which is exact to a minute. */
  readonly idleTime: number
}

/** The store of a session, its end, and the clock in milliseconds since 1970. */
export interface SessionPlace {
  readonly store: SessionStore
  readonly times: SessionTimes
  readonly now: () => number
}

/** Times are milliseconds since 1970. */
export interface SessionMetadata {
  readonly createdAt: number
  /** Exact to a minute. */
  readonly lastUsedAt: number
  /** The end of the session, if it is not used again before. */
  readonly expiresAt: number
}

/** The change of the session's cookie: none, cleared, or set for `maxAge` seconds. */
export type SessionCookie = 'none' | 'clear' | { readonly id: string; readonly maxAge: number }

/** A session between its first use and its end, as one request sees it. */
export class SessionState {
  readonly #place: SessionPlace
  /** The id under which the session will be saved. */
  #id: string
  /** The id under which the store has it. */
  #storedId: string | undefined
  /** The id before the session was invalidated; the store still has to destroy it. */
  #endedId: string | undefined
  #createdAt: number
  #lastUsedAt: number
  #contents: SessionContents

  /** `data` is what the store has under the id. Without it the session is new. */
  constructor(place: SessionPlace, id: string, data?: SessionData) {
    this.#place = place
    this.#id = id
    this.#storedId = data && id
    this.#createdAt = data?.createdAt ?? place.now()
    this.#lastUsedAt = data?.lastUsedAt ?? this.#createdAt
    this.#contents = new SessionContents(data)
  }

  get id(): string {
    return this.#id
  }

  get contents(): SessionContents {
    return this.#contents
  }

  get metadata(): SessionMetadata {
    const [createdAt, lastUsedAt] = [this.#createdAt, this.#lastUsedAt]
    return { createdAt, lastUsedAt, expiresAt: expiryOf(this.#place.times, createdAt, lastUsedAt) }
  }

  /** Whether there is something to save. */
  get isChanged(): boolean {
    return this.#contents.isChanged || this.#endedId !== undefined || this.#hasNewId
  }

  get #hasNewId(): boolean {
    return this.#storedId !== undefined && this.#storedId !== this.#id
  }

  /** Goes on under a new id. */
  regenerate(id: string): void {
    this.#id = id
  }

  /** Drops the contents and begins again under a new id. */
  invalidate(id: string): void {
    this.#endedId = this.#storedId ?? this.#endedId
    this.#storedId = undefined
    this.#id = id
    this.#createdAt = this.#place.now()
    this.#lastUsedAt = this.#createdAt
    this.#contents = new SessionContents()
  }

  /** Takes the flashes of a type, or all of them, out of the store and out of this request's contents. */
  async takeFlashes(type: string | undefined): Promise<Flashes> {
    const take = (contents: SessionContents) => contents.takeFlashes(type)
    return this.#contents.hasStoredFlashes(type) ? this.exchange(take) : take(this.#contents)
  }

  /**
   * Runs an operation on the newest contents in the store, with the changes of this request, and stores the outcome at once.
   * A session that is new, or that another request has ended, has only the changes of this request: they stay unsaved.
   */
  async exchange<result>(operate: (contents: SessionContents) => result): Promise<result> {
    const id = this.#storedId
    const own = this.#contents
    const run = (stored?: SessionData) => {
      const contents = own.rebase(stored)
      return { contents, result: operate(contents) }
    }
    let last: ReturnType<typeof run> | undefined
    const change = (stored: SessionData): SessionData => {
      last = run(stored)
      return last.contents.isChanged ? { ...stored, ...last.contents.toData() } : stored
    }
    const data = id === undefined ? undefined : await this.#place.store.update(id, change, id)
    if (data === undefined || last === undefined) {
      // A store may call `change` although another request ends the session then: that result does not count.
      last = run()
      this.#contents = last.contents
    } else this.#contents = new SessionContents(data)
    return last.result
  }

  /** Destroys an invalidated session and writes the changes. Returns the change of the cookie. */
  async save(): Promise<SessionCookie> {
    const endedId = this.#endedId
    if (endedId !== undefined) {
      await this.#place.store.destroy(endedId)
      this.#endedId = undefined
    }
    if (await this.#write()) return { id: this.#id, maxAge: this.#secondsLeft }
    return endedId === undefined ? 'none' : 'clear'
  }

  /** Rounded up: the client may keep the cookie longer than the store keeps the session, and never shorter. */
  get #secondsLeft(): number {
    return Math.ceil((this.metadata.expiresAt - this.#place.now()) / 1000)
  }

  /**
   * Writes the session if it has to be. Returns whether the client needs the cookie again: for a new id, or to keep it
   * longer. A session that was only read is written again once a minute, or a tenth of its idle time, has passed since the
   * last use.
   */
  async #write(): Promise<boolean> {
    const { now, store, times } = this.#place
    const storedId = this.#storedId
    const contents = this.#contents
    if (storedId === undefined) {
      if (contents.isEmpty) return false
      await this.#insert()
      return true
    }

    const id = this.#id
    const hasNewId = this.#hasNewId
    const isRenewed = hasNewId || now() - this.#lastUsedAt >= Math.min(60_000, times.idleTime * 100)
    if (!contents.isChanged && !isRenewed) return false
    const change = (stored: SessionData): SessionData => {
      const { createdAt } = stored
      const lastUsedAt = isRenewed ? now() : stored.lastUsedAt
      return {
        createdAt,
        lastUsedAt,
        expiresAt: expiryOf(times, createdAt, lastUsedAt),
        ...contents.rebase(stored).toData(),
      }
    }
    const data = await store.update(storedId, change, id)
    if (data !== undefined) {
      this.#resume(id, data)
      return isRenewed
    }
    // Another request has ended the session. Changes under a new id count nevertheless: a login form sent twice, say.
    if (!hasNewId || !contents.isChanged) return false
    await this.#insert()
    return true
  }

  async #insert(): Promise<void> {
    const { now, store, times } = this.#place
    const [id, createdAt, lastUsedAt] = [this.#id, this.#createdAt, now()]
    const expiresAt = expiryOf(times, createdAt, lastUsedAt)
    const data = { createdAt, lastUsedAt, expiresAt, ...this.#contents.rebase().toData() }
    await store.insert(id, data)
    this.#resume(id, data)
  }

  #resume(id: string, data: SessionData): void {
    this.#id = id
    this.#storedId = id
    this.#endedId = undefined
    this.#createdAt = data.createdAt
    this.#lastUsedAt = data.lastUsedAt
    this.#contents = new SessionContents(data)
  }
}

/** The end of a session, in milliseconds since 1970. */
export function expiryOf({ lifetime, idleTime }: SessionTimes, createdAt: number, lastUsedAt: number): number {
  return Math.min(createdAt + lifetime * 1000, lastUsedAt + idleTime * 1000)
}
