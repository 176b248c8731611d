import { isDeepStrictEqual } from 'node:util'

/** A value that the application has changed without storing it. */
export interface LostChange {
  /** The name of the value. */
  readonly name: string
  /** Its stack begins where the session has returned the value. Its message is the call, such as `session.get()`. */
  readonly callSite: Error
}

/** What a session has returned at once: one value, or all of them. */
interface HandedOut {
  /** The object of the application, which it may change. */
  readonly values: Readonly<Record<string, unknown>>
  /** What was stored then. These values are never changed. */
  readonly stored: Iterable<readonly [string, unknown]>
  readonly callSite: Error
}

/** The values that are compared, and the names that are not new. */
interface Compared extends HandedOut {
  readonly compared: Map<string, unknown>
  readonly known: Set<string>
}

/** For a stream that reads the session again and again. */
const limit = 100

/**
 * Remembers the values that a session has returned, to find those that the application changes without
 * storing them: the session has copied them, so that such a change is lost. For development only.
 */
export class HandedOutValues {
  readonly #entries: Compared[] = []
  readonly #onLost: (change: LostChange) => void

  /** The callback gets the changes that a save of the session leaves out. */
  constructor(onLost: (change: LostChange) => void) {
    this.#onLost = onLost
  }

  add(entry: HandedOut): void {
    if (this.#entries.length === limit) return
    this.#entries.push({ ...entry, compared: new Map(entry.stored), known: new Set(Object.keys(entry.values)) })
  }

  /**
   * Notes that a value is stored. If it is one that was returned, later changes of it count; others of its name do not.
   */
  store(name: string, value: unknown, copy: unknown): void {
    for (const entry of this.#entries) {
      leaveOut(entry, name)
      if (entry.values[name] === value) entry.compared.set(name, copy)
    }
  }

  /** Notes that a value, or each one, was deleted or replaced on purpose. */
  forget(name?: string): void {
    if (name === undefined) this.#entries.length = 0
    else for (const entry of this.#entries) leaveOut(entry, name)
  }

  /** Reports the changes that are not among the current values, each name once. */
  reportLost(current: ReadonlyMap<string, unknown>): void {
    const lost = new Map<string, LostChange>()
    for (const { callSite, compared, known, values } of this.#entries) {
      const added = Object.keys(values).filter(name => !known.has(name))
      for (const name of [...compared.keys(), ...added]) {
        const value = values[name]
        if (isSame(value, compared.get(name)) || isSame(value, current.get(name)) || lost.has(name)) continue
        lost.set(name, { name, callSite })
      }
    }
    for (const [name, change] of lost) {
      this.forget(name)
      this.#onLost(change)
    }
  }
}

function leaveOut({ compared, known }: Compared, name: string): void {
  compared.delete(name)
  known.add(name)
}

/** Whether two values are stored as the same JSON. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(toJson(one), toJson(other))
}

/** A value that JSON cannot represent, such as a cycle, is equal to itself only. */
function toJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return value
  }
}
