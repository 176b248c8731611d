import { isDeepStrictEqual } from 'node:util'
import type { SessionData } from './session-store.ts'

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
