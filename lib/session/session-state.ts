import { isDeepStrictEqual } from 'node:util'
import { withoutStack } from '../errors/http-error.ts'
import type { SessionMethod } from './session-methods.ts'
import type { SessionData, SessionStore } from './session-store.ts'

/** The end of a session: the first of the two counts. */
export interface SessionTimes {
  /** Seconds from its creation, however much it is used. */
  readonly lifetime: number
  /** Seconds from its last use, which is exact to a minute. */
  readonly idleTime: number
}

/** The store of a session, its end, and the clock in milliseconds since 1970. */
interface SessionPlace {
  readonly store: SessionStore
  readonly times: SessionTimes
  readonly now: () => number
}

/** Times are milliseconds since 1970. */
export interface SessionMetadata {
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The time of the last use, exact to a minute. */
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

  get isStored(): boolean {
    return this.#storedId !== undefined
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
   * Runs an operation on the newest contents in the store, with the changes of this request, and
   * stores the outcome at once. A session that is new, or that another request has ended, has only
   * the changes of this request: they stay unsaved.
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
   * Writes the session if it has to be. Returns whether the client needs the cookie again: for a
   * new id, or to keep it longer. A session that was only read is written again once a minute, or
   * a tenth of its idle time, has passed since the last use.
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
    // Another request has ended the session. If this one has given it a new id, its changes are
    // stored under that id: a login form may be sent twice.
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

/** The attributes and flashes of a session, and the changes that this request has made to them. Values are JSON. */
export class SessionContents {
  readonly #attributes: Map<string, unknown>
  /** Names whose values were set or deleted here. */
  readonly #changed = new Set<string>()
  #isCleared = false
  readonly #storedFlashes: Map<string, readonly unknown[]>
  readonly #addedFlashes = new Map<string, readonly unknown[]>()
  /** Whether stored flashes were removed. */
  #isTaken = false

  constructor(stored?: StoredContents) {
    this.#attributes = new Map(Object.entries(stored?.attributes ?? {}))
    this.#storedFlashes = new Map(Object.entries(stored?.flashes ?? {}))
  }

  get attributes(): ReadonlyMap<string, unknown> {
    return this.#attributes
  }

  get flashes(): Flashes {
    return join(this.#storedFlashes, this.#addedFlashes)
  }

  get isChanged(): boolean {
    return this.#isCleared || this.#isTaken || this.#changed.size > 0 || this.#addedFlashes.size > 0
  }

  get isEmpty(): boolean {
    return this.#attributes.size === 0 && this.#storedFlashes.size === 0 && this.#addedFlashes.size === 0
  }

  set(name: string, value: unknown): void {
    if (this.#attributes.has(name) && isDeepStrictEqual(this.#attributes.get(name), value)) return
    this.#attributes.set(name, value)
    this.#changed.add(name)
  }

  /** Whether there was something to delete. */
  delete(name: string): boolean {
    const existed = this.#attributes.delete(name)
    if (existed) this.#changed.add(name)
    return existed
  }

  clear(): void {
    this.#attributes.clear()
    this.#isCleared = true
  }

  addFlash(type: string, message: unknown): void {
    this.#addedFlashes.set(type, [...(this.#addedFlashes.get(type) ?? []), message])
  }

  /** Whether the store had flashes of this type, or any at all, when it was read. */
  hasStoredFlashes(type: string | undefined): boolean {
    return type === undefined ? this.#storedFlashes.size > 0 : this.#storedFlashes.has(type)
  }

  /** Removes the flashes of a type, or all, and returns them. */
  takeFlashes(type: string | undefined): Flashes {
    const taken = pick(this.flashes, type)
    for (const key of taken.keys()) {
      if (this.#storedFlashes.delete(key)) this.#isTaken = true
      this.#addedFlashes.delete(key)
    }
    return taken
  }

  /**
   * The contents that are stored now, with the changes of this request and nothing else: changes
   * of other requests stay.
   */
  rebase(stored?: StoredContents): SessionContents {
    const contents = new SessionContents(stored)
    if (this.#isCleared) contents.clear()
    for (const name of this.#changed) {
      if (this.#attributes.has(name)) contents.set(name, this.#attributes.get(name))
      else contents.delete(name)
    }
    for (const [type, messages] of this.#addedFlashes) contents.#addedFlashes.set(type, messages)
    return contents
  }

  toData(): StoredContents {
    return { attributes: Object.fromEntries(this.#attributes), flashes: Object.fromEntries(this.flashes) }
  }
}

type StoredContents = Pick<SessionData, 'attributes' | 'flashes'>

/** Messages by type. */
type Flashes = ReadonlyMap<string, readonly unknown[]>

/** The flashes of the type, or all. */
function pick(flashes: Flashes, type: string | undefined): Flashes {
  return type === undefined ? flashes : new Map([...flashes].filter(([key]) => key === type))
}

function join(first: Flashes, second: Flashes): Flashes {
  const joined = new Map(first)
  for (const [type, messages] of second) joined.set(type, [...(joined.get(type) ?? []), ...messages])
  return joined
}

/** One use of a session. */
export interface SessionUse {
  readonly method: SessionMethod
  /** Creates an error whose stack begins where the session was used. Only valid during the `onUse` call. */
  captureCallSite(): Error
}

/** Creates the error of {@link SessionUse.captureCallSite}. Its stack begins with the caller of `method`. */
export function captureCallSite(name: SessionMethod, method: (...values: never[]) => unknown): Error {
  // Otherwise the stack would be captured twice.
  const callSite = withoutStack(() => new Error(`session.${name}()`))
  Error.captureStackTrace(callSite, method)
  return callSite
}
