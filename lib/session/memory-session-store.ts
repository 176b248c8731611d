import { defaultSessionLimits, divideSessions, type KeptSession, type SessionLimits } from './session-limits.ts'
import { describeRecord, parseRecord, stringifyRecord } from './session-record.ts'
import type { SessionData, SessionStore } from './session-store.ts'
import { SweepSchedule } from './sweep-schedule.ts'

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
