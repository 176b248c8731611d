import { isDeepStrictEqual } from 'node:util'
import type { SessionData, SessionStore } from './session-store.ts'

/** The store of a session, its lifetime in seconds, and the clock in milliseconds since 1970. */
export interface SessionPlace {
  readonly store: SessionStore
  readonly lifetime: number
  readonly now: () => number
}

/** Times are milliseconds since 1970; the last use is exact to a minute. The lifetime is in seconds. */
export interface SessionMetadata {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly lifetime: number
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
    return { createdAt: this.#createdAt, lastUsedAt: this.#lastUsedAt, lifetime: this.#place.lifetime }
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
    const stored = await this.#takeStoredFlashes(type)
    return this.#contents.takeFlashes(type, stored)
  }

  async #takeStoredFlashes(type: string | undefined): Promise<Flashes> {
    const { store, lifetime } = this.#place
    const id = this.#storedId
    if (id === undefined || !this.#contents.hasStoredFlashes(type)) return new Map()
    return lockSession(store, id, async () => {
      const data = await store.read(id)
      const flashes = new Map(Object.entries(data?.flashes ?? {}))
      const taken = pick(flashes, type)
      if (data === undefined || taken.size === 0) return taken
      const kept = [...flashes].filter(([key]) => !taken.has(key))
      await store.write(id, { ...data, flashes: Object.fromEntries(kept) }, lifetime)
      return taken
    })
  }

  /** Destroys an invalidated session and writes the changes. Returns the change of the cookie. */
  async save(): Promise<SessionCookie> {
    const { store, lifetime } = this.#place
    const endedId = this.#endedId
    if (endedId !== undefined) {
      await lockSession(store, endedId, () => store.destroy(endedId))
      this.#endedId = undefined
    }
    if (await this.#write()) return { id: this.#id, maxAge: lifetime }
    return endedId === undefined ? 'none' : 'clear'
  }

  /**
   * Writes the session if it has to be. Returns whether the client needs the cookie again: for a new id, or to keep it
   * longer. A session that was only read is written again once a minute, or a tenth of its lifetime, has passed since the
   * last use.
   */
  async #write(): Promise<boolean> {
    const { store, lifetime } = this.#place
    const id = this.#id
    const storedId = this.#storedId
    const contents = this.#contents
    const createdAt = this.#createdAt
    const now = this.#place.now()
    const write = async (base: SessionData | undefined, lastUsedAt: number): Promise<void> => {
      const data = { createdAt: base?.createdAt ?? createdAt, lastUsedAt, ...contents.applyTo(base) }
      await store.write(id, data, lifetime)
      this.#resume(id, data)
    }

    if (storedId === undefined) {
      if (contents.isEmpty) return false
      await write(undefined, now)
      return true
    }

    const hasNewId = this.#hasNewId
    const isRenewed = hasNewId || now - this.#lastUsedAt >= Math.min(60_000, lifetime * 100)
    if (!contents.isChanged && !isRenewed) return false
    return lockSession(store, storedId, async () => {
      const base = await store.read(storedId)
      // Another request has ended the session. Changes under a new id count nevertheless: a login form sent twice, say.
      if (base === undefined && !(hasNewId && contents.isChanged)) return false
      await write(base, isRenewed || base === undefined ? now : base.lastUsedAt)
      if (hasNewId) await store.destroy(storedId)
      return isRenewed
    })
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

/** Messages by type. */
export type Flashes = ReadonlyMap<string, readonly unknown[]>

/** The attributes and flashes of a session, and the changes that this request has made to them. Values are JSON. */
class SessionContents {
  readonly #attributes: Map<string, unknown>
  /** Names whose values were set or deleted here. */
  readonly #changed = new Set<string>()
  #isCleared = false
  readonly #storedFlashes: Map<string, readonly unknown[]>
  readonly #addedFlashes = new Map<string, readonly unknown[]>()

  constructor(stored?: Pick<SessionData, 'attributes' | 'flashes'>) {
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
    return this.#isCleared || this.#changed.size > 0 || this.#addedFlashes.size > 0
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

  /** Removes the flashes of a type, or all. `stored` are those that were taken out of the store. */
  takeFlashes(type: string | undefined, stored: Flashes): Flashes {
    const taken = join(stored, pick(this.#addedFlashes, type))
    for (const flashes of [this.#storedFlashes, this.#addedFlashes]) {
      if (type === undefined) flashes.clear()
      else flashes.delete(type)
    }
    return taken
  }

  /** Applies the changes, and nothing else, to the session that is stored now: changes of other requests stay. */
  applyTo(stored: SessionData | undefined): Pick<SessionData, 'attributes' | 'flashes'> {
    const attributes = new Map(this.#isCleared ? [] : Object.entries(stored?.attributes ?? {}))
    for (const name of this.#changed) {
      if (this.#attributes.has(name)) attributes.set(name, this.#attributes.get(name))
      else attributes.delete(name)
    }
    const flashes = join(new Map(Object.entries(stored?.flashes ?? {})), this.#addedFlashes)
    return { attributes: Object.fromEntries(attributes), flashes: Object.fromEntries(flashes) }
  }
}

/** The flashes of the type, or all. */
function pick(flashes: Flashes, type: string | undefined): Flashes {
  return type === undefined ? flashes : new Map([...flashes].filter(([key]) => key === type))
}

function join(first: Flashes, second: Flashes): Flashes {
  const joined = new Map(first)
  for (const [type, messages] of second) joined.set(type, [...(joined.get(type) ?? []), ...messages])
  return joined
}

/** Runs a task when the earlier tasks of the session in this process have ended, failed ones included. */
function lockSession<result>(store: SessionStore, id: string, task: () => Promise<result>): Promise<result> {
  const locks = locksOf(store)
  const result = (locks.get(id) ?? Promise.resolve()).then(task)
  const over: Promise<void> = result.then(ignore, ignore).then(() => {
    if (locks.get(id) === over) locks.delete(id)
  })
  locks.set(id, over)
  return result
}

/** By store, because overlapping requests share the store, and not the Session. */
const locksByStore = new WeakMap<SessionStore, Map<string, Promise<void>>>()

function locksOf(store: SessionStore): Map<string, Promise<void>> {
  const known = locksByStore.get(store)
  if (known !== undefined) return known
  const locks = new Map<string, Promise<void>>()
  locksByStore.set(store, locks)
  return locks
}

function ignore(): void {}
