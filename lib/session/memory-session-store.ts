import { parseRecord, stringifyRecord } from './session-record.ts'
import type { SessionData, SessionStore } from './session-store.ts'
import { SweepSchedule } from './sweep-schedule.ts'

/** Keeps sessions in this process, for tests and for sites that may forget them. */
export class MemorySessionStore implements SessionStore {
  readonly #now: () => number
  /** Text, as in a file: nobody holds on to what another one changes. */
  readonly #records = new Map<string, string>()
  readonly #schedule = new SweepSchedule()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  async read(id: string): Promise<SessionData | undefined> {
    return parseRecord(this.#records.get(id) ?? '', this.#now())
  }

  async write(id: string, data: SessionData, lifetime: number): Promise<void> {
    const now = this.#now()
    this.#records.set(id, stringifyRecord(data, lifetime, now))
    if (this.#schedule.claim(now)) await this.sweep()
  }

  async destroy(id: string): Promise<void> {
    this.#records.delete(id)
  }

  async sweep(): Promise<number> {
    const now = this.#now()
    const expired = [...this.#records].filter(([, record]) => parseRecord(record, now) === undefined)
    for (const [id] of expired) this.#records.delete(id)
    return expired.length
  }
}
