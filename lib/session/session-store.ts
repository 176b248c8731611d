import { SESSION_TOO_LARGE } from './errors.ts'

/** The stored data of a session: JSON values only. Times are milliseconds since 1970. */
export interface SessionData {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** Messages by type, oldest first. */
  readonly flashes: Readonly<Record<string, readonly unknown[]>>
}

/** Stores sessions. An id may be any text from a client. @throws SESSION_STORE_FAILED with the cause */
export interface SessionStore {
  /** The session of the id; undefined if it is unknown, expired or damaged. */
  read(id: string): Promise<SessionData | undefined>

  /**
   * Stores a copy for `lifetime` seconds from now, or shorter when there is no room. Only ids that the server created are
   * written. @throws SESSION_TOO_LARGE for a session above the limit of the store
   */
  write(id: string, data: SessionData, lifetime: number): Promise<void>

  /** Deletes the session, if there is one. */
  destroy(id: string): Promise<void>
}

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
  /** Bytes. */
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

/**
 * Writes the text of a stored session, which expires `lifetime` seconds after `now`.
 * @throws SESSION_TOO_LARGE for more bytes than the limit
 */
export function stringifyRecord(data: SessionData, lifetime: number, now: number, limit: number): string {
  const text = JSON.stringify({ expiresAt: now + lifetime * 1000, ...data })
  const size = Buffer.byteLength(text)
  if (size > limit) throw new SESSION_TOO_LARGE([size, limit])
  return text
}

/** Parses the text of a stored session; undefined if it is damaged or expired. */
export function parseRecord(text: string, now: number): SessionData | undefined {
  return parseStored(text, now)?.data
}

/** The facts about a stored session for a sweep; undefined as for {@link parseRecord}. */
export function describeRecord(name: string, text: string, now: number): KeptSession | undefined {
  const stored = parseStored(text, now)
  return stored && { name, expiresAt: stored.expiresAt, size: Buffer.byteLength(text) }
}

function parseStored(text: string, now: number): { expiresAt: number; data: SessionData } | undefined {
  const record = parseJson(text)
  if (!isObject(record) || !isTime(record.expiresAt) || record.expiresAt <= now) return undefined
  const { expiresAt, createdAt, lastUsedAt, attributes, flashes } = record
  if (!isTime(createdAt) || !isTime(lastUsedAt) || !isObject(attributes) || !isLists(flashes)) return undefined
  return { expiresAt, data: { createdAt, lastUsedAt, attributes, flashes } }
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
  return typeof value === 'number'
}

function isLists(value: unknown): value is Record<string, unknown[]> {
  return isObject(value) && Object.values(value).every(Array.isArray)
}

/**
 * Decides when a store is swept: with the first write, every ten minutes, and as soon as enough was written to exceed the
 * limits, but not before a tenth of the limits was written. Only one sweep runs at a time.
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
    return parseRecord(this.#records.get(id) ?? '', this.#now())
  }

  async write(id: string, data: SessionData, lifetime: number): Promise<void> {
    const now = this.#now()
    const record = stringifyRecord(data, lifetime, now, this.#limits.sessionBytes)
    this.#records.set(id, record)
    if (this.#schedule.claim(now, Buffer.byteLength(record))) this.#schedule.end(this.#sweep())
  }

  async destroy(id: string): Promise<void> {
    this.#records.delete(id)
  }

  /** Deletes expired sessions and sessions above the limits at once. Returns their number. */
  async sweep(): Promise<number> {
    const before = this.#records.size
    return before - this.#sweep().length
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
