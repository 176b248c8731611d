import { isDeepStrictEqual } from 'node:util'
import { SESSION_VALUE_INVALID } from './errors.ts'
import type { SessionData, SessionStore } from './session-store.ts'

/** A session between its first use and its end, as one request sees it. Times are milliseconds since 1970. */
export interface SessionState {
  /** Under which it will be saved. */
  id: string
  /** Under which the store has it. */
  stored: string | undefined
  /** What it was before it was invalidated: to be destroyed. */
  ended: string | undefined
  createdAt: number
  lastUsedAt: number
  contents: SessionContents
}

/** Where, how long and by which clock sessions are kept. */
export interface SessionPlace {
  readonly store: SessionStore
  /** Seconds. */
  readonly lifetime: number
  readonly now: () => number
}

/** The state of a session that is in no store. */
export function beginState(id: string, now: number): SessionState {
  return { id, stored: undefined, ended: undefined, createdAt: now, lastUsedAt: now, contents: new SessionContents() }
}

/** The state of a session that the store has. */
export function resumeState(id: string, data: SessionData): SessionState {
  const { createdAt, lastUsedAt } = data
  return { id, stored: id, ended: undefined, createdAt, lastUsedAt, contents: new SessionContents(data) }
}

/** Whether it goes on under another id than the one it is stored under. */
export function isMoved({ id, stored }: SessionState): boolean {
  return stored !== undefined && stored !== id
}

/** Removes the flashes of the type, or all, from the store as it is by now, and hands them over. */
export async function takeStoredFlashes(
  state: SessionState,
  type: string | undefined,
  place: SessionPlace,
): Promise<Flashes> {
  const { stored, contents } = state
  if (stored === undefined || !contents.hasStoredFlashes(type)) return new Map()
  return lockSession(place.store, stored, async () => {
    const data = await place.store.read(stored)
    const flashes = new Map(Object.entries(data?.flashes ?? {}))
    const taken = pick(flashes, type)
    if (data === undefined || taken.size === 0) return taken
    const kept = [...flashes].filter(([key]) => !taken.has(key))
    await place.store.write(stored, { ...data, flashes: Object.fromEntries(kept) }, place.lifetime)
    return taken
  })
}

/** Destroys what was invalidated; says whether there was anything. */
export async function destroyEnded(state: SessionState, { store }: SessionPlace): Promise<boolean> {
  const { ended } = state
  if (ended === undefined) return false
  await lockSession(store, ended, () => store.destroy(ended))
  state.ended = undefined
  return true
}

/**
 * Writes the session if it must be; says whether the client must be told, of a new id or to keep its cookie longer. A
 * session that was only read is written again once a minute, or tenth of its lifetime, has passed since the last use.
 */
export async function writeState(state: SessionState, place: SessionPlace): Promise<boolean> {
  const { store, lifetime } = place
  const { id, stored, contents, createdAt } = state
  const now = place.now()
  const write = async (base: SessionData | undefined, lastUsedAt: number): Promise<void> => {
    const data = { createdAt: base?.createdAt ?? createdAt, lastUsedAt, ...contents.applyTo(base) }
    await store.write(id, data, lifetime)
    Object.assign(state, resumeState(id, data))
  }

  if (stored === undefined) {
    if (contents.isEmpty) return false
    await write(undefined, now)
    return true
  }

  const hasNewId = isMoved(state)
  const isRenewed = hasNewId || now - state.lastUsedAt >= Math.min(60_000, lifetime * 100)
  if (!contents.isChanged && !isRenewed) return false
  return lockSession(store, stored, async () => {
    const base = await store.read(stored)
    // Ended by another request. What was done under a new id counts nevertheless: a login form sent twice, say.
    if (base === undefined && !(hasNewId && contents.isChanged)) return false
    await write(base, isRenewed || base === undefined ? now : base.lastUsedAt)
    if (hasNewId) await store.destroy(stored)
    return isRenewed
  })
}

/** Messages by type. */
export type Flashes = ReadonlyMap<string, readonly unknown[]>

/** The attributes and flashes of a session in use, and what this request has changed about them. Values are JSON. */
export class SessionContents {
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

  /** Whether the store had flashes, of this type or of any, when it was read. */
  hasStoredFlashes(type: string | undefined): boolean {
    return type === undefined ? this.#storedFlashes.size > 0 : this.#storedFlashes.has(type)
  }

  /** Removes the flashes of the type, or all; `stored` are those which the store handed over, to this request alone. */
  takeFlashes(type: string | undefined, stored: Flashes): Flashes {
    const taken = join(stored, pick(this.#addedFlashes, type))
    for (const flashes of [this.#storedFlashes, this.#addedFlashes]) {
      if (type === undefined) flashes.clear()
      else flashes.delete(type)
    }
    return taken
  }

  /** Carries the changes, and nothing else, over to what is stored by now: other requests keep theirs. */
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
export function pick(flashes: Flashes, type: string | undefined): Flashes {
  return type === undefined ? flashes : new Map([...flashes].filter(([key]) => key === type))
}

function join(first: Flashes, second: Flashes): Flashes {
  const joined = new Map(first)
  for (const [type, messages] of second) joined.set(type, [...(joined.get(type) ?? []), ...messages])
  return joined
}

/** Runs the task once the earlier ones of this session, in this process, are over; they may have failed. */
export function lockSession<result>(store: SessionStore, id: string, task: () => Promise<result>): Promise<result> {
  const locks = locksOf(store)
  const result = (locks.get(id) ?? Promise.resolve()).then(task)
  const over: Promise<void> = result.then(ignore, ignore).then(() => {
    if (locks.get(id) === over) locks.delete(id)
  })
  locks.set(id, over)
  return result
}

/** By store, and not by the request's Session: overlapping requests have nothing else in common. */
const locksByStore = new WeakMap<SessionStore, Map<string, Promise<void>>>()

function locksOf(store: SessionStore): Map<string, Promise<void>> {
  const known = locksByStore.get(store)
  if (known !== undefined) return known
  const locks = new Map<string, Promise<void>>()
  locksByStore.set(store, locks)
  return locks
}

function ignore(): void {}

/**
 * Copies a value that JSON can say without loss: null, booleans, finite numbers, strings, arrays and plain objects.
 * Properties that are undefined are left out, as in JSON.
 *
 * @throws SESSION_VALUE_INVALID naming the part that cannot be kept
 */
export function copyValue(name: string, value: unknown): unknown {
  return copy(value, { name, path: 'the value', within: [] })
}

/** Where in a value the copy is. */
interface Place {
  readonly name: string
  /** `the value.user.roles[2]` */
  readonly path: string
  /** The objects around it, for finding cycles. */
  readonly within: readonly object[]
}

/** Deeper than any data that is meant to be in a session, and far from the end of the stack. */
const maxDepth = 100

function copy(value: unknown, place: Place): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw refuse(place, describe(value))
  if (place.within.includes(value)) throw refuse(place, 'part of itself')
  if (place.within.length === maxDepth) throw refuse(place, `nested more than ${maxDepth} deep`)

  const within = [...place.within, value]
  if (Array.isArray(value)) {
    // Not map(): it would skip holes.
    return Array.from(value, (item, index) => copy(item, { ...place, path: `${place.path}[${index}]`, within }))
  }
  if (!isPlain(value)) throw refuse(place, `an instance of ${value.constructor?.name ?? 'a class'}`)
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  // fromEntries() defines properties: a key `__proto__` is data like any other.
  return Object.fromEntries(
    entries.map(([key, part]) => [key, copy(part, { ...place, path: `${place.path}.${key}`, within })]),
  )
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function refuse({ name, path }: Place, reason: string): Error {
  return new SESSION_VALUE_INVALID([name, path, reason])
}

function describe(value: unknown): string {
  if (value === undefined || typeof value === 'number') return String(value)
  return `a ${typeof value}`
}
