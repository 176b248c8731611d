import { randomBytes } from 'node:crypto'
import { withoutStack } from '../errors/http-error.ts'
import { SESSION_STATELESS } from './errors.ts'
import {
  beginState,
  copyValue,
  destroyEnded,
  isMoved,
  resumeState,
  type SessionPlace,
  type SessionState,
  takeStoredFlashes,
  writeState,
} from './session-state.ts'
import type { SessionStore } from './session-store.ts'

/** What a session is made of. */
export interface SessionOptions {
  readonly store: SessionStore
  /** The id that the client sent; one that the store does not know is never adopted. */
  readonly id?: string | undefined
  /** Seconds without use after which the session ends. */
  readonly lifetime: number
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Draws an id that nobody can guess. */
  readonly createId?: () => string
  /** Told of each use before it happens; what it throws refuses the use. */
  readonly onUse?: ((use: SessionUse) => void) | undefined
}

/** Since when, and for how many seconds. Times are milliseconds since 1970; the last use is exact to a minute. */
export interface SessionMetadata {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly lifetime: number
}

/** A session as someone sees it who only looks. */
export interface SessionView {
  readonly id: string
  readonly metadata: SessionMetadata
  readonly attributes: Record<string, unknown>
  readonly flashes: Record<string, readonly unknown[]>
}

/** What becomes of the session's cookie: it stays as it is, is cleared, or is set for `maxAge` seconds. */
export type SessionCookie = 'none' | 'clear' | { readonly id: string; readonly maxAge: number }

/**
 * What a site remembers of a client between requests. Nothing is read before the first use, and nothing is written
 * unless something has changed or a minute has passed since the last use. Values are copied in and out.
 *
 * Every use may throw SESSION_STORE_FAILED, or what the `onUse` option throws.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #place: SessionPlace
  readonly #createId: () => string
  #opening: Promise<SessionState> | undefined
  #state: SessionState | undefined
  #useCount = 0
  #hasFailed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#place = { store: options.store, lifetime: options.lifetime, now: options.now ?? Date.now }
    this.#createId = options.createId ?? createSessionId
  }

  /** Whether the session has been read from the store, or begun. */
  get isStarted(): boolean {
    return this.#state !== undefined
  }

  /** Whether there is something to save. */
  get isChanged(): boolean {
    const state = this.#state
    if (state === undefined) return false
    return state.contents.isChanged || state.ended !== undefined || isMoved(state)
  }

  /** How often the session was used: responses that depend on it must not be cached. */
  get useCount(): number {
    return this.#useCount
  }

  /** Whether the last save has failed: what has changed is not in the store. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  async get(name: string): Promise<unknown> {
    const { contents } = await this.#use('get')
    return structuredClone(contents.attributes.get(name))
  }

  /** @throws SESSION_VALUE_INVALID when JSON cannot say the value */
  async set(name: string, value: unknown): Promise<void> {
    const copy = copyValue(name, value)
    const { contents } = await this.#use('set')
    contents.set(name, copy)
  }

  async has(name: string): Promise<boolean> {
    const { contents } = await this.#use('has')
    return contents.attributes.has(name)
  }

  /** Whether there was something to delete. */
  async delete(name: string): Promise<boolean> {
    const { contents } = await this.#use('delete')
    return contents.delete(name)
  }

  /** All attributes, as an object without prototype. */
  async all(): Promise<Record<string, unknown>> {
    const { contents } = await this.#use('all')
    return toRecord(contents.attributes)
  }

  /** Deletes all attributes; flashes stay. */
  async clear(): Promise<void> {
    const { contents } = await this.#use('clear')
    contents.clear()
  }

  /** Leaves a message for the page that asks for it next, in this request or a later one. @throws SESSION_VALUE_INVALID */
  async flash(type: string, message: unknown): Promise<void> {
    const copy = copyValue(type, message)
    const { contents } = await this.#use('flash')
    contents.addFlash(type, copy)
  }

  /**
   * Takes the messages of one type, or all by type. Overlapping requests of one process get each message once: it is
   * removed from the store before this returns.
   */
  async flashes(): Promise<Record<string, readonly unknown[]>>
  async flashes(type: string): Promise<readonly unknown[]>
  async flashes(type?: string): Promise<Record<string, readonly unknown[]> | readonly unknown[]> {
    const state = await this.#use('flashes')
    const stored = await takeStoredFlashes(state, type, this.#place)
    const taken = state.contents.takeFlashes(type, stored)
    return type === undefined ? toRecord(taken) : (taken.get(type) ?? [])
  }

  /** All messages by type; they stay. */
  async peekFlashes(): Promise<Record<string, readonly unknown[]>> {
    const { contents } = await this.#use('peekFlashes')
    return toRecord(contents.flashes)
  }

  async metadata(): Promise<SessionMetadata> {
    return this.#metadataOf(await this.#use('metadata'))
  }

  /** Goes on under a new id; the old one ends when this is saved. Call it when a client gains rights, as by logging in. */
  async regenerate(): Promise<void> {
    const state = await this.#use('regenerate')
    state.id = this.#createId()
  }

  /** Drops all data and the id. Call it when a client gives up its rights, as by logging out. */
  async invalidate(): Promise<void> {
    const state = await this.#use('invalidate')
    Object.assign(state, this.#begin(), { ended: state.stored ?? state.ended })
  }

  /** Looks without using: nothing is read, counted, told or taken. Undefined unless the session is started. */
  peek(): SessionView | undefined {
    const state = this.#state
    if (state === undefined) return undefined
    const { attributes, flashes } = state.contents
    const metadata = this.#metadataOf(state)
    return { id: state.id, metadata, attributes: toRecord(attributes), flashes: toRecord(flashes) }
  }

  /**
   * Writes what has changed, onto what other requests have written meanwhile, and says what becomes of the cookie. A
   * session that was ended meanwhile stays ended. What changes later needs another call.
   *
   * @throws SESSION_STORE_FAILED
   */
  async save(): Promise<SessionCookie> {
    this.#hasFailed = true
    await this.#opening
    const cookie = this.#state === undefined ? 'none' : await this.#write(this.#state)
    this.#hasFailed = false
    return cookie
  }

  async #write(state: SessionState): Promise<SessionCookie> {
    const hasEnded = await destroyEnded(state, this.#place)
    if (await writeState(state, this.#place)) return { id: state.id, maxAge: this.#place.lifetime }
    return hasEnded ? 'clear' : 'none'
  }

  /** Not async: the call site is still on the stack, and uses that nobody awaits come before a later save. */
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
    const { id } = this.#options
    const data = id === undefined ? undefined : await this.#place.store.read(id)
    this.#state = id === undefined || data === undefined ? this.#begin() : resumeState(id, data)
    return this.#state
  }

  #begin(): SessionState {
    return beginState(this.#createId(), this.#place.now())
  }

  #metadataOf({ createdAt, lastUsedAt }: SessionState): SessionMetadata {
    return { createdAt, lastUsedAt, lifetime: this.#place.lifetime }
  }
}

function createSessionId(): string {
  return randomBytes(24).toString('base64url')
}

/** Without prototype: a name such as `__proto__` is a name like any other. */
function toRecord<value>(entries: ReadonlyMap<string, value>): Record<string, value> {
  const record: Record<string, value> = Object.create(null)
  for (const [name, value] of entries) record[name] = structuredClone(value)
  return record
}

/** The methods of a session that use it. */
export type SessionMethod =
  | 'get'
  | 'set'
  | 'has'
  | 'delete'
  | 'all'
  | 'clear'
  | 'flash'
  | 'flashes'
  | 'peekFlashes'
  | 'metadata'
  | 'regenerate'
  | 'invalidate'

/** One use of a session. */
export interface SessionUse {
  readonly method: SessionMethod
  /** Makes an error whose stack begins where the session was used. To be called while being told, and only if wanted. */
  captureCallSite(): Error
}

/** When a use of the session is a mistake, and what happens then. */
export interface StatelessCheckOptions {
  /** Whether the request is declared stateless; asked at each use, since routing may come after the session. */
  isStateless(): boolean
  /** Whether the use is refused, and not only reported. */
  readonly isDebug: boolean
  report(use: SessionUse): void
}

/** Creates what tells a session that its request is declared stateless. It throws SESSION_STATELESS in debug only. */
export function createStatelessCheck(options: StatelessCheckOptions): (use: SessionUse) => void {
  return use => {
    if (!options.isStateless()) return
    if (options.isDebug) throw new SESSION_STATELESS([])
    options.report(use)
  }
}

/** Makes the error of {@link SessionUse.captureCallSite}; frames above the caller of `method` are left out. */
export function captureCallSite(name: SessionMethod, method: (...values: never[]) => unknown): Error {
  // Otherwise the stack would be taken twice.
  const callSite = withoutStack(() => new Error(`session.${name}()`))
  Error.captureStackTrace(callSite, method)
  return callSite
}
