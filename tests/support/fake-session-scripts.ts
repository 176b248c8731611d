import type { FakeReply } from './fake-redis-scripts.ts'

interface FakeSession {
  readonly text: Buffer
  readonly expiry: number
}

/**
 * The scripts of the session store on data in memory, for one prefix. The same cases test them and the real scripts.
 */
export class FakeSessionScripts {
  readonly #sessions = new Map<string, FakeSession>()

  /** Runs a script by its name. */
  run(name: string, args: readonly Buffer[]): FakeReply {
    const texts = args.map(String)
    const [first = '', text = '', third = ''] = texts
    const stored = this.#sessions.get(first)?.text ?? null
    if (name === 'read-session') return stored
    if (name === 'check-sessions') return 1
    if (name === 'sweep-sessions') return this.#trim(texts.map(Number))
    if (name === 'insert-session') {
      this.#put(first, args[1], texts.slice(2, 4).map(Number))
      return this.#trim(texts.slice(3).map(Number))
    }
    if (name === 'destroy-session') return this.#sessions.delete(first) ? 1 : 0
    if (stored === null || String(stored) !== text) return stored
    if (third !== first) this.#sessions.delete(first)
    this.#put(third, args[3], texts.slice(4).map(Number))
    return 1
  }

  #put(name: string, text: Buffer | undefined, [expiry = 0, now = 0]: readonly number[]): void {
    // A copy: the arguments are parts of what was received.
    if (expiry > now && text !== undefined) this.#sessions.set(name, { text: Buffer.from(text), expiry })
    else this.#sessions.delete(name)
  }

  #trim([now = 0, sessions = 0, bytes = 0]: readonly number[]): FakeReply {
    const before = this.#sessions.size
    for (const [name, { expiry }] of this.#sessions) if (expiry <= now) this.#sessions.delete(name)
    const left = this.#sessions.size
    const ordered = [...this.#sessions].sort(([, one], [, other]) => one.expiry - other.expiry)
    let size = ordered.reduce((sum, [, { text }]) => sum + text.length, 0)
    for (const [name, { text }] of ordered) {
      if (this.#sessions.size <= sessions && size <= bytes) break
      this.#sessions.delete(name)
      size -= text.length
    }
    return [before - left, left - this.#sessions.size]
  }
}
