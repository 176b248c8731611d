import { SESSION_TOO_LARGE } from './errors.ts'

/** What a store keeps of a session: JSON values only. Times are milliseconds since 1970. */
export interface SessionData {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** Messages by type, in the order in which they were added. */
  readonly flashes: Readonly<Record<string, readonly unknown[]>>
}

/** Keeps sessions. An id may be anything that a client sent. @throws SESSION_STORE_FAILED with the cause */
export interface SessionStore {
  /** The session of this id, unless it is unknown, expired or damaged. */
  read(id: string): Promise<SessionData | undefined>

  /**
   * Keeps a copy for `lifetime` seconds from now, or less when there is no room. Only ids that the server drew are ever
   * written. @throws SESSION_TOO_LARGE when one session is larger than the store takes
   */
  write(id: string, data: SessionData, lifetime: number): Promise<void>

  /** Forgets the session; nothing happens when there is none. */
  destroy(id: string): Promise<void>

  /** Removes what has expired, what is over the limits, and what is left of writes that failed; says how much that was. */
  sweep(): Promise<number>
}

/** How much a store keeps. */
export interface SessionLimits {
  /** Sessions. With one more, those that expire first are removed. */
  readonly sessions: number
  /** Bytes of all sessions together, as they are written. */
  readonly bytes: number
  /** Bytes of one session, as it is written. A larger one is refused. */
  readonly sessionBytes: number
}

/** The limits of a store by default. */
export const defaultSessionLimits: SessionLimits = {
  sessions: 100_000,
  bytes: 256 * 1024 ** 2,
  sessionBytes: 64 * 1024,
}

/** A session as a store keeps it, with what decides how long it stays. */
export interface KeptSession {
  /** Unique within the store. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Bytes. */
  readonly size: number
}

/**
 * Divides sessions into those that stay within the limits and those that are too many: the ones that expire first, and
 * of equal ones those whose names come first.
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
 * The text as which a store keeps a session; it expires `lifetime` seconds after `now`.
 * @throws SESSION_TOO_LARGE when it has more bytes than the limit
 */
export function stringifyRecord(data: SessionData, lifetime: number, now: number, limit: number): string {
  const text = JSON.stringify({ expiresAt: now + lifetime * 1000, ...data })
  const size = Buffer.byteLength(text)
  if (size > limit) throw new SESSION_TOO_LARGE([size, limit])
  return text
}

/** Reads that text; undefined when it is damaged, no record at all, or has expired. */
export function parseRecord(text: string, now: number): SessionData | undefined {
  return parseStored(text, now)?.data
}

/** What a sweep needs to know of that text; undefined as for {@link parseRecord}. */
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
 * Says when a store is to be swept: at first, every ten minutes, and as soon as enough was written for the store to be
 * over its limits, but not before a tenth of them was written. One sweep is under way at a time.
 */
export class SweepSchedule {
  readonly #limits: SessionLimits
  #last = Number.NEGATIVE_INFINITY
  #isUnderWay = false
  /** Sessions and bytes that may still be written before the next sweep. */
  #sessionsLeft = 0
  #bytesLeft = 0

  constructor(limits: SessionLimits) {
    this.#limits = limits
  }

  /** Counts a write of so many bytes. Whether the caller is to sweep now, and to call `end` after that. */
  claim(now: number, size: number): boolean {
    this.#sessionsLeft--
    this.#bytesLeft -= size
    // A clock that jumps back does not stop the sweeping.
    const isDue = Math.abs(now - this.#last) >= 10 * 60_000 || this.#sessionsLeft < 0 || this.#bytesLeft < 0
    if (!isDue || this.#isUnderWay) return false
    this.#last = now
    this.#isUnderWay = true
    this.#sessionsLeft = this.#limits.sessions / 10
    this.#bytesLeft = this.#limits.bytes / 10
    return true
  }

  /** What the sweep has found and left; nothing when it has failed. */
  end(kept?: readonly KeptSession[]): void {
    this.#isUnderWay = false
    if (kept === undefined) return
    const { sessions, bytes } = this.#limits
    const size = kept.reduce((sum, session) => sum + session.size, 0)
    this.#sessionsLeft += Math.max(0, sessions * 0.9 - kept.length)
    this.#bytesLeft += Math.max(0, bytes * 0.9 - size)
  }
}

/** Keeps sessions in this process, for tests and for sites that may forget them. */
export class MemorySessionStore implements SessionStore {
  readonly #now: () => number
  readonly #limits: SessionLimits
  /** Text, as in a file: nobody holds on to what another one changes. */
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

  async sweep(): Promise<number> {
    const before = this.#records.size
    return before - this.#sweep().length
  }

  /** Gives the sessions that are left. */
  #sweep(): readonly KeptSession[] {
    const now = this.#now()
    const sessions = [...this.#records].flatMap(([id, record]) => describeRecord(id, record, now) ?? [])
    const { kept } = divideSessions(sessions, this.#limits)
    const names = new Set(kept.map(({ name }) => name))
    for (const id of this.#records.keys()) if (!names.has(id)) this.#records.delete(id)
    return kept
  }
}
