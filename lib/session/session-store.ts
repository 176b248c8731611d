import { measureJsonDepth } from '../body/parse-json.ts'
import type { Logger } from '../log/logger.ts'
import { SESSION_TOO_LARGE } from './errors.ts'

/** The stored data of a session: JSON values only. Times are milliseconds since 1970. */
export interface SessionData {
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly lastUsedAt: number
  /** The end of the session, if it is not used again before. A store may remove it then. */
  readonly expiresAt: number
  /** The values of the application by their names. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** Messages by type, oldest first. */
  readonly flashes: Readonly<Record<string, readonly unknown[]>>
}

/**
 * Stores sessions: in files by default, in Redis by `createRedisSessionStore`, elsewhere by a
 * class of the application. An id may be any text from a client. `insert` and `update` are
 * separate, so that a late change cannot bring back a session that was ended.
 *
 * @throws SESSION_STORE_FAILED with the cause, or SESSION_STORE_UNREACHABLE
 */
export interface SessionStore {
  /** A copy of the session of the id; undefined if it is unknown, expired or damaged. */
  read(id: string): Promise<SessionData | undefined>

  /**
   * Stores a new session until its `expiresAt`, or shorter when there is no room. The server has just created the id.
   * @throws SESSION_TOO_LARGE for a session above the limit of the store
   */
  insert(id: string, data: SessionData): Promise<void>

  /**
   * Changes the session of the id, and moves it to `newId` if that differs. Returns the new data;
   * undefined, and nothing is stored, if there is no such session. Changes of one session never
   * overlap, also those of several processes: a store waits for the other change, or it calls `change`
   * again with the newer data. If `change` returns its argument, the store need not write it.
   * @throws SESSION_TOO_LARGE as `insert`; the session is then stored as before
   */
  update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined>

  /** Deletes the session, if there is one. An earlier change of it ends before, a later one finds nothing. */
  destroy(id: string): Promise<void>

  /**
   * Rejects if no session can be stored now, and leaves no data. A server calls it when it begins
   * to listen and for `/_health`. A store without it counts as ready.
   */
  check?(): Promise<void>

  /** Ends its connections, when the kernel closes. */
  close?(): void | Promise<void>
}

/** Creates a store that writes to the log of the application. */
export type CreateSessionStore = (services: { readonly logger: Logger }) => SessionStore

/**
 * Computes the new data of a session from the stored data. It may be called several times, and
 * only the last result counts.
 */
export type SessionChange = (stored: SessionData) => SessionData

/** The limits of a store. */
export interface SessionLimits {
  /** Number of sessions. Above it, the sessions that expire first are removed. */
  readonly sessions: number
  /** Bytes of all sessions together, in their stored form. */
  readonly bytes: number
  /** Bytes of one session, in its stored form. A larger session is refused. */
  readonly sessionBytes: number
}

/** The limits of a store by default. */
export const defaultSessionLimits: SessionLimits = {
  sessions: 100_000,
  bytes: 256 * 1024 ** 2,
  sessionBytes: 64 * 1024,
}

/** A stored session, and the facts that decide how long it stays. */
export interface KeptSession {
  /** Unique within the store. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The size of the stored session, in bytes. */
  readonly size: number
}

/**
 * Divides sessions into those that stay and those above the limits. Sessions that expire first go first; of equal ones
 * those whose names come first.
 */
export function divideSessions(
  sessions: readonly KeptSession[],
  limits: SessionLimits,
): { readonly kept: readonly KeptSession[]; readonly excess: readonly KeptSession[] } {
  let bytes = sessions.reduce((sum, { size }) => sum + size, 0)
  if (sessions.length <= limits.sessions && bytes <= limits.bytes) return { kept: sessions, excess: [] }
  const ordered = sessions.toSorted((a, b) => a.expiresAt - b.expiresAt || (a.name < b.name ? -1 : 1))
  let count = Math.max(0, ordered.length - limits.sessions)
  for (const { size } of ordered.slice(0, count)) bytes -= size
  for (const { size } of ordered.slice(count)) {
    if (bytes <= limits.bytes) break
    bytes -= size
    count++
  }
  return { kept: ordered.slice(count), excess: ordered.slice(0, count) }
}

/** The levels of a value: deeper than any useful data, and far from a stack overflow. */
export const deepestValue = 100

/** Writes the text of a stored session. @throws SESSION_TOO_LARGE for more bytes than the limit */
export function stringifyRecord(data: SessionData, limit: number): string {
  const text = JSON.stringify(data)
  const size = Buffer.byteLength(text)
  if (size > limit) throw new SESSION_TOO_LARGE([size, limit])
  return text
}

/** Parses the text of a stored session; undefined if it is damaged or expired. */
export function parseRecord(text: string, now: number): SessionData | undefined {
  // A value is in the attributes, or in a list of the flashes.
  const record = measureJsonDepth(text) > deepestValue + 3 ? undefined : parseJson(text)
  if (!isObject(record) || !isTime(record.expiresAt) || record.expiresAt <= now) return undefined
  const { createdAt, lastUsedAt, expiresAt, attributes, flashes } = record
  if (!isTime(createdAt) || !isTime(lastUsedAt) || !isObject(attributes) || !isLists(flashes)) return undefined
  return { createdAt, lastUsedAt, expiresAt, attributes, flashes }
}

/** The facts about a stored session for a sweep; undefined as for {@link parseRecord}. */
export function describeRecord(name: string, text: string, now: number): KeptSession | undefined {
  const data = parseRecord(text, now)
  return data && { name, expiresAt: data.expiresAt, size: Buffer.byteLength(text) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime())
}

function isLists(value: unknown): value is Record<string, unknown[]> {
  return isObject(value) && Object.values(value).every(Array.isArray)
}

/**
 * Decides when a store is swept: with the first write, every ten minutes, and as soon as enough was written
 * to exceed the limits, but not before a tenth of the limits was written. Only one sweep runs at a time.
 */
export class SweepSchedule {
  readonly #limits: SessionLimits
  #last = Number.NEGATIVE_INFINITY
  #isRunning = false
  /** Sessions and bytes that may be written before the next sweep. */
  #sessionsLeft = 0
  #bytesLeft = 0

  constructor(limits: SessionLimits) {
    this.#limits = limits
  }

  /** Counts a write of `size` bytes. Returns whether the caller has to sweep now, and to call `end` after it. */
  claim(now: number, size: number): boolean {
    this.#sessionsLeft--
    this.#bytesLeft -= size
    // With `abs`, a clock that jumps back does not stop the sweeps.
    const isDue = Math.abs(now - this.#last) >= 10 * 60_000 || this.#sessionsLeft < 0 || this.#bytesLeft < 0
    if (!isDue || this.#isRunning) return false
    this.#last = now
    this.#isRunning = true
    this.#sessionsLeft = this.#limits.sessions / 10
    this.#bytesLeft = this.#limits.bytes / 10
    return true
  }

  /** Ends a sweep. `kept` are the sessions that are left; absent after a failure. */
  end(kept?: readonly KeptSession[]): void {
    this.#isRunning = false
    if (kept === undefined) return
    const { sessions, bytes } = this.#limits
    const size = kept.reduce((sum, session) => sum + session.size, 0)
    this.#sessionsLeft += Math.max(0, sessions * 0.9 - kept.length)
    this.#bytesLeft += Math.max(0, bytes * 0.9 - size)
  }
}

/** Stores sessions in this process, for tests and for applications that may lose them. */
export class MemorySessionStore implements SessionStore {
  readonly #now: () => number
  readonly #limits: SessionLimits
  /** Texts, as in files, so that no caller shares an object with another. */
  readonly #records = new Map<string, string>()
  readonly #schedule: SweepSchedule

  constructor(now: () => number = Date.now, limits: SessionLimits = defaultSessionLimits) {
    this.#now = now
    this.#limits = limits
    this.#schedule = new SweepSchedule(limits)
  }

  async read(id: string): Promise<SessionData | undefined> {
    return this.#parse(id)
  }

  async insert(id: string, data: SessionData): Promise<void> {
    this.#put(id, data)
  }

  /** The method has no `await`, so that changes do not overlap. */
  async update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined> {
    const stored = this.#parse(id)
    if (stored === undefined) return undefined
    const data = change(stored)
    this.#put(newId, data)
    if (newId !== id) this.#records.delete(id)
    return data
  }

  async destroy(id: string): Promise<void> {
    this.#records.delete(id)
  }

  /** Deletes expired sessions and sessions above the limits at once. Returns their number. */
  async sweep(): Promise<number> {
    const before = this.#records.size
    return before - this.#sweep().length
  }

  #parse(id: string): SessionData | undefined {
    return parseRecord(this.#records.get(id) ?? '', this.#now())
  }

  #put(id: string, data: SessionData): void {
    const record = stringifyRecord(data, this.#limits.sessionBytes)
    this.#records.set(id, record)
    if (this.#schedule.claim(this.#now(), Buffer.byteLength(record))) this.#schedule.end(this.#sweep())
  }

  /** Returns the sessions that are left. */
  #sweep(): readonly KeptSession[] {
    const now = this.#now()
    const sessions = [...this.#records].flatMap(([id, record]) => describeRecord(id, record, now) ?? [])
    const { kept } = divideSessions(sessions, this.#limits)
    const names = new Set(kept.map(({ name }) => name))
    for (const id of this.#records.keys()) if (!names.has(id)) this.#records.delete(id)
    return kept
  }
}

/** Runs the tasks of one session one after the other, and those of different sessions at the same time. */
export class SessionTasks {
  /** The end of the last task of a session, by its id. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs a task when the earlier tasks of the session have ended, failed ones included. */
  run<result>(id: string, task: () => Promise<result>): Promise<result> {
    const result = (this.#ends.get(id) ?? Promise.resolve()).then(task)
    const end: Promise<void> = result.then(ignore, ignore).then(() => {
      if (this.#ends.get(id) === end) this.#ends.delete(id)
    })
    this.#ends.set(id, end)
    return result
  }
}

function ignore(): void {}
