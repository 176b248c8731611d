import { readFile } from 'node:fs/promises'
import { compressWell } from './compression.ts'
import type { Coding } from './negotiation.ts'

/** What does not get smaller by this is sent as it is. */
const worthwhile = 0.95

/** Compressed contents of files: made when they are first asked for, once, and kept within a limit of bytes. */
export class FileVariants {
  readonly #limit: number
  /** What was not asked for longest comes first; empty where compressing does not pay. */
  readonly #kept = new Map<string, Uint8Array>()
  readonly #pending = new Map<string, Promise<Uint8Array>>()
  #size = 0

  constructor(limit: number = 32 * 1024 * 1024) {
    this.#limit = limit
  }

  /** The content of a file, compressed; `undefined` when that is hardly smaller. @throws when it cannot be read */
  async find(file: string, digest: string, coding: Coding): Promise<Uint8Array | undefined> {
    // By the digest: what is known of a content is true for ever.
    const key = `${digest}-${coding}`
    const bytes = this.#use(key) ?? (await this.#create(key, file, coding))
    return bytes.length === 0 ? undefined : bytes
  }

  #use(key: string): Uint8Array | undefined {
    const bytes = this.#kept.get(key)
    if (bytes === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, bytes)
    return bytes
  }

  #create(key: string, file: string, coding: Coding): Promise<Uint8Array> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = compressFile(file, coding)
        .then(bytes => this.#keep(key, bytes))
        .finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return pending
  }

  #keep(key: string, bytes: Uint8Array): Uint8Array {
    this.#kept.set(key, bytes)
    this.#size += bytes.length
    for (const [oldest, { length }] of this.#kept) {
      if (this.#size <= this.#limit) break
      this.#kept.delete(oldest)
      this.#size -= length
    }
    return bytes
  }
}

async function compressFile(file: string, coding: Coding): Promise<Uint8Array> {
  const content = await readFile(file)
  const bytes = await compressWell(content, coding)
  return bytes.length < content.length * worthwhile ? bytes : new Uint8Array(0)
}
