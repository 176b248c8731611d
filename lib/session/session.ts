import { randomBytes } from 'node:crypto'
import { ARGUMENT_INVALID, checkArguments } from '../errors/arguments.ts'
import { isPlainObject, wayIntoJson } from '../text/describe-value.ts'
import { SESSION_VALUE_INVALID } from './errors.ts'
import type { HandedOutValues } from './handed-out.ts'
import type { SessionMethod } from './session-methods.ts'
import {
  captureCallSite,
  expiryOf,
  type SessionContents,
  type SessionCookie,
  type SessionMetadata,
  SessionState,
  type SessionTimes,
  type SessionUse,
} from './session-state.ts'
import { deepestValue, type SessionStore } from './session-store.ts'

/** The parts of a session. */
export interface SessionOptions {
  readonly store: SessionStore
  /** The id that the client sent. An id that the store does not know is never adopted. */
  readonly id?: string | undefined
  readonly times: SessionTimes
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Creates an unguessable id. */
  readonly createId?: () => string
  /** Called before each use. If it throws, the use is refused. */
  readonly onUse?: ((use: SessionUse) => void) | undefined
  /** Reports changes of returned values that a save leaves out. */
  readonly handedOut?: HandedOutValues | undefined
}

/** A copy of a session's data. */
interface SessionView {
  readonly id: string
  readonly metadata: SessionMetadata
  readonly attributes: Record<string, unknown>
  readonly flashes: Record<string, readonly unknown[]>
}

/**
 * The data that the application keeps about a client between requests. Nothing is read before the first use. Nothing
 * is written unless something has changed or a minute has passed since the last use. Values are copied in and out.
 *
 * Every use may throw SESSION_STORE_FAILED, or the error of the `onUse` option.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #now: () => number
  readonly #createId: () => string
  /** The read of the store, and the end of the last change that is stored at once. */
  #opening: Promise<SessionState> | undefined
  #state: SessionState | undefined
  #useCount = 0
  #hasFailed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#createId = options.createId ?? createSessionId
  }

  /** Whether the session was read from the store, or is new. */
  get isStarted(): boolean {
    return this.#state !== undefined
  }

  /** Whether there is something to save. */
  get isChanged(): boolean {
    return this.#state?.isChanged ?? false
  }

  /** Whether the store has the session, as far as this request knows. */
  get isStored(): boolean {
    return this.#state?.isStored ?? false
  }

  /** The number of uses. A response that depends on the session must not be cached. */
  get useCount(): number {
    return this.#useCount
  }

  /** The class of the store, such as `FileSessionStore`. */
  get storeName(): string {
    return this.#options.store.constructor.name
  }

  /** Whether the last save has failed: the changes are not in the store. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** A copy of the value; `undefined` without one. */
  get(name: string): Promise<unknown>
  async get(name: string, ...more: readonly unknown[]): Promise<unknown> {
    checkName('get(name)', name, more)
    const note = this.#handOut('get')
    const { contents } = await this.#use('get')
    const stored = contents.attributes.get(name)
    const value = structuredClone(stored)
    if (typeof value === 'object') note?.({ [name]: value }, [[name, stored]])
    return value
  }

  /** Stores a value, with the response. @throws SESSION_VALUE_INVALID for a value that JSON cannot represent */
  async set(name: string, value: unknown): Promise<void> {
    checkName('set(name, value)', name)
    const copy = copyValue(name, value)
    const { contents } = await this.#use('set')
    contents.set(name, copy)
    this.#options.handedOut?.store(name, value, copy)
  }

  /** Whether there is a value. */
  async has(name: string): Promise<boolean> {
    checkName('has(name)', name)
    const { contents } = await this.#use('has')
    return contents.attributes.has(name)
  }

  /** Whether there was something to delete. */
  async delete(name: string): Promise<boolean> {
    checkName('delete(name)', name)
    const { contents } = await this.#use('delete')
    this.#options.handedOut?.forget(name)
    return contents.delete(name)
  }

  /** All attributes, as an object without prototype. */
  async all(): Promise<Record<string, unknown>> {
    const note = this.#handOut('all')
    const { contents } = await this.#use('all')
    const values = toRecord(contents.attributes)
    note?.(values, contents.attributes)
    return values
  }

  /**
   * Computes a value from the newest value in the store, stores it at once, and returns it: of
   * overlapping requests each change counts, also in several processes. The earlier changes of this
   * request are stored with it. `change` is synchronous. It may be called again with a newer value, so
   * it must have no other effects. A session that another request has ended is empty and stays ended.
   *
   * @throws SESSION_VALUE_INVALID for a new value that JSON cannot represent
   */
  async update<value>(name: string, change: (value: unknown) => value): Promise<value> {
    checkArguments('session.update(name, change)', ['string', 'function'], name, change)
    const replace = (contents: SessionContents) => {
      const value = copyValue(name, change(structuredClone(contents.attributes.get(name))))
      contents.set(name, value)
      return value
    }
    const note = this.#handOut('update')
    const stored = await this.#exchange('update', state => state.exchange(replace))
    // A copy of what `change` has returned.
    const value = structuredClone(stored) as value
    this.#options.handedOut?.forget(name)
    note?.({ [name]: value }, [[name, stored]])
    return value
  }

  /**
   * Deletes a value, also in the store at once, and returns it; undefined if there is none. Of
   * overlapping requests only one gets the value, also in several processes.
   */
  take(name: string): Promise<unknown>
  async take(name: string, ...more: readonly unknown[]): Promise<unknown> {
    checkName('take(name)', name, more)
    const remove = (contents: SessionContents) => {
      const value = contents.attributes.get(name)
      contents.delete(name)
      return value
    }
    const value = await this.#exchange('take', state => state.exchange(remove))
    this.#options.handedOut?.forget(name)
    return value
  }

  /** Deletes all attributes; flashes stay. */
  async clear(): Promise<void> {
    const { contents } = await this.#use('clear')
    this.#options.handedOut?.forget()
    contents.clear()
  }

  /** Adds a message for the next page that reads it, in this request or a later one. @throws SESSION_VALUE_INVALID */
  async flash(type: string, message: unknown): Promise<void> {
    checkName('flash(type, message)', type)
    if (message === undefined) {
      throw new ARGUMENT_INVALID([
        'session.flash(type, message)',
        'the message is undefined; to read messages, use flashes(type)',
      ])
    }
    const copy = copyValue(type, message)
    const { contents } = await this.#use('flash')
    contents.addFlash(type, copy)
  }

  /**
   * Returns the messages of one type, or all by type, and removes them. Of overlapping requests only one
   * gets a message, also in several processes: the message is removed from the store before this returns.
   */
  async flashes(): Promise<Record<string, readonly unknown[]>>
  async flashes(type: string): Promise<readonly unknown[]>
  async flashes(type?: string): Promise<Record<string, readonly unknown[]> | readonly unknown[]> {
    if (type !== undefined) checkName('flashes(type)', type)
    const taken = await this.#exchange('flashes', state => state.takeFlashes(type))
    return type === undefined ? toRecord(taken) : (taken.get(type) ?? [])
  }

  /** All messages by type, without removing them. */
  async peekFlashes(): Promise<Record<string, readonly unknown[]>> {
    const { contents } = await this.#use('peekFlashes')
    return toRecord(contents.flashes)
  }

  /** When the session was made and last used, and when it ends. */
  async metadata(): Promise<SessionMetadata> {
    const { metadata } = await this.#use('metadata')
    return metadata
  }

  /** Changes the id; the old id ends with the next save. Call it when a client gains rights, such as with a login. */
  async regenerate(): Promise<void> {
    const state = await this.#use('regenerate')
    state.regenerate(this.#createId())
  }

  /** Drops all data and changes the id. Call it when a client gives up its rights, such as with a logout. */
  async invalidate(): Promise<void> {
    const state = await this.#use('invalidate')
    this.#options.handedOut?.forget()
    state.invalidate(this.#createId())
  }

  /**
   * Copies the session without using it: no read of the store, no count, no `onUse`. Undefined before the first use.
   */
  peek(): SessionView | undefined {
    const state = this.#state
    if (state === undefined) return undefined
    const { contents, id, metadata } = state
    return { id, metadata, attributes: toRecord(contents.attributes), flashes: toRecord(contents.flashes) }
  }

  /**
   * Writes the changes, merged into what other requests have written meanwhile, and returns the change of the cookie. A
   * session that another request has ended meanwhile stays ended. Later changes need another call.
   *
   * @throws SESSION_STORE_FAILED
   */
  async save(): Promise<SessionCookie> {
    this.#hasFailed = true
    await this.#opening
    if (this.#state !== undefined) this.#options.handedOut?.reportLost(this.#state.contents.attributes)
    const cookie = (await this.#state?.save()) ?? 'none'
    this.#hasFailed = false
    return cookie
  }

  /**
   * Notes the place of a call, if changes of returned values are reported. Returns a function that notes the values.
   */
  #handOut(method: SessionMethod) {
    const { handedOut } = this.#options
    if (handedOut === undefined) return undefined
    const callSite = captureCallSite(method, this[method])
    return (values: Record<string, unknown>, stored: Iterable<readonly [string, unknown]>): void =>
      handedOut.add({ values, stored, callSite })
  }

  /** Later uses by this request wait until the store has answered, so that they see the outcome. */
  #exchange<result>(method: SessionMethod, run: (state: SessionState) => Promise<result>): Promise<result> {
    const opened = this.#use(method)
    const result = opened.then(run)
    const isOver = () => opened
    this.#opening = result.then(isOver, isOver)
    // The caller has the error of the store.
    this.#opening.catch(() => {})
    return result
  }

  /** Not async: the call site is still on the stack, and uses without an `await` come before a later save. */
  #use(method: SessionMethod): Promise<SessionState> {
    this.#useCount++
    this.#options.onUse?.({ method, captureCallSite: () => captureCallSite(method, this[method]) })
    this.#opening ??= this.#open().catch(error => {
      // The next use tries again.
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<SessionState> {
    const { id, times, store } = this.#options
    const place = { store, times, now: this.#now }
    const data = id === undefined ? undefined : await store.read(id)
    // A session is over also if its store still has it, or if it was stored with longer times.
    const isOver =
      data !== undefined && Math.min(data.expiresAt, expiryOf(times, data.createdAt, data.lastUsedAt)) <= this.#now()
    const isKnown = id !== undefined && data !== undefined && !isOver
    this.#state = isKnown ? new SessionState(place, id, data) : new SessionState(place, this.#createId())
    return this.#state
  }
}

/** The characters of a session's id, each of six random bits. */
export const sessionIdLength = 32

function createSessionId(): string {
  return randomBytes((sessionIdLength * 6) / 8).toString('base64url')
}

/** Without a prototype, so that `__proto__` is a name like any other. */
function toRecord<value>(entries: ReadonlyMap<string, value>): Record<string, value> {
  const record: Record<string, value> = Object.create(null)
  for (const [name, value] of entries) record[name] = structuredClone(value)
  return record
}

/**
 * Copies a value that JSON can represent without loss: null, booleans, finite numbers, strings,
 * arrays and plain objects. Undefined properties are left out, as in JSON.
 *
 * @throws SESSION_VALUE_INVALID with the path of the part that cannot be stored
 */
function copyValue(name: string, value: unknown): unknown {
  return copy(value, { name, path: 'the value', within: [] })
}

/** A place in a value. */
interface Place {
  readonly name: string
  /** `the value.user.roles[2]` */
  readonly path: string
  /** The objects around the place, to find cycles. */
  readonly within: readonly object[]
}

function copy(value: unknown, place: Place): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw refuse(place, describe(value))
  if (place.within.includes(value)) throw refuse(place, 'part of itself')
  if (place.within.length === deepestValue) throw refuse(place, `nested more than ${deepestValue} deep`)

  const within = [...place.within, value]
  if (Array.isArray(value)) {
    // Not map(): it would skip holes.
    return Array.from(value, (item, index) => copy(item, { ...place, path: `${place.path}[${index}]`, within }))
  }
  const isPlain: boolean = isPlainObject(value)
  if (!isPlain) {
    const way = wayIntoJson(value) ?? (value instanceof Date ? 'use date.toISOString()' : 'use { ...value }')
    throw refuse(place, `an instance of ${value.constructor?.name ?? 'a class'} (${way})`)
  }
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  // fromEntries() defines properties: a key `__proto__` is data like any other.
  return Object.fromEntries(
    entries.map(([key, part]) => [key, copy(part, { ...place, path: `${place.path}.${key}`, within })]),
  )
}

function refuse({ name, path }: Place, reason: string): Error {
  return new SESSION_VALUE_INVALID([name, path, reason])
}

function describe(value: unknown): string {
  if (value === undefined || typeof value === 'number') return String(value)
  return `a ${typeof value}`
}

function checkName(call: string, name: unknown, more: readonly unknown[] = []): void {
  if (typeof name !== 'string' || more.length > 0) checkArguments(`session.${call}`, ['string'], name, ...more)
}
