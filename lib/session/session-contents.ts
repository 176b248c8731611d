import { isDeepStrictEqual } from 'node:util'
import type { SessionData } from './session-store.ts'

/** The attributes and flashes of a session, and the changes that this request has made to them. Values are JSON. */
export class SessionContents {
  readonly #attributes: Map<string, unknown>
  /** Names whose values were set or deleted here. */
  readonly #changed = new Set<string>()
  #isCleared = false
  readonly #storedFlashes: Map<string, readonly unknown[]>
  readonly #addedFlashes = new Map<string, readonly unknown[]>()
  /** Whether stored flashes were removed. */
  #isTaken = false

  constructor(stored?: StoredContents) {
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
    return this.#isCleared || this.#isTaken || this.#changed.size > 0 || this.#addedFlashes.size > 0
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

  /** Whether the store had flashes of this type, or any at all, when it was read. */
  hasStoredFlashes(type: string | undefined): boolean {
    return type === undefined ? this.#storedFlashes.size > 0 : this.#storedFlashes.has(type)
  }

  /** Removes the flashes of a type, or all, and returns them. */
  takeFlashes(type: string | undefined): Flashes {
    const taken = pick(this.flashes, type)
    for (const key of taken.keys()) {
      if (this.#storedFlashes.delete(key)) this.#isTaken = true
      this.#addedFlashes.delete(key)
    }
    return taken
  }

  /** The contents that are stored now, with the changes of this request and nothing else: changes of other requests stay. */
  rebase(stored?: StoredContents): SessionContents {
    const contents = new SessionContents(stored)
    if (this.#isCleared) contents.clear()
    for (const name of this.#changed) {
      if (this.#attributes.has(name)) contents.set(name, this.#attributes.get(name))
      else contents.delete(name)
    }
    for (const [type, messages] of this.#addedFlashes) contents.#addedFlashes.set(type, messages)
    return contents
  }

  toData(): StoredContents {
    return { attributes: Object.fromEntries(this.#attributes), flashes: Object.fromEntries(this.flashes) }
  }
}

type StoredContents = Pick<SessionData, 'attributes' | 'flashes'>

/** Messages by type. */
export type Flashes = ReadonlyMap<string, readonly unknown[]>

/** The flashes of the type, or all. */
function pick(flashes: Flashes, type: string | undefined): Flashes {
  return type === undefined ? flashes : new Map([...flashes].filter(([key]) => key === type))
}

function join(first: Flashes, second: Flashes): Flashes {
  const joined = new Map(first)
  for (const [type, messages] of second) joined.set(type, [...(joined.get(type) ?? []), ...messages])
  return joined
}
