import { createHash } from 'node:crypto'
import type { Eventual } from '../../kernel/steps.ts'

/**
 * A page as its controller has answered it, before the listeners of `kernel.response`. Times are
 * milliseconds since 1970.
 */
export interface StoredPage {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Uint8Array | null
  /** When the request began that has made the page. */
  readonly createdAt: number
  /** When it was complete; earlier if the controller had it from another cache, with an Age. */
  readonly storedAt: number
  readonly freshUntil: number
  /** Until then it may be sent while a new one is made. */
  readonly staleUntil: number
  /** The request headers that the page depends on, in lower case. */
  readonly vary: readonly string[]
  /** The values of these headers for which the page was made. */
  readonly variant: string
  /** The tags by which it is purged. */
  readonly tags: readonly string[]
}

/** Stores pages under keys without special characters. */
export interface PageStore {
  /** `undefined` also if a tag of the page was purged since the page was created. */
  read(key: string): Eventual<StoredPage | undefined>
  write(key: string, page: StoredPage): Eventual<void>
  /** Removes all pages with one of the tags, and those that are being made now. */
  purge(tags: readonly string[]): Eventual<void>
  close?(): Eventual<void>
}

/** The most tags whose purge is remembered for pages that are being made. */
const purgeLimit = 10_000

/**
 * Stores pages in this process, within a limit of bytes: the page that was not read for the longest time goes first.
 */
export class MemoryPageStore implements PageStore {
  readonly #limit: number
  readonly #now: () => number
  readonly #pages = new Map<string, { readonly page: StoredPage; readonly size: number }>()
  readonly #purged = new Map<string, number>()
  /** Pages that were created until then are not stored: the purge of a tag may be forgotten. */
  #floor = 0
  #size = 0

  constructor(limit: number, now: () => number = Date.now) {
    this.#limit = limit
    this.#now = now
  }

  /** The bytes of all pages. */
  get size(): number {
    return this.#size
  }

  read(key: string): StoredPage | undefined {
    const found = this.#pages.get(key)
    if (found === undefined) return undefined
    this.#pages.delete(key)
    if (found.page.staleUntil <= this.#now()) {
      this.#size -= found.size
      return undefined
    }
    // Last in the order of use.
    this.#pages.set(key, found)
    return found.page
  }

  write(key: string, page: StoredPage): void {
    const isPurged = page.tags.some(tag => (this.#purged.get(tag) ?? this.#floor) >= page.createdAt)
    const size = sizeOf(key, page)
    if (isPurged || size > this.#limit / 8) return
    this.#remove(key)
    this.#pages.set(key, { page, size })
    this.#size += size
    for (const oldest of this.#pages.keys()) {
      if (this.#size <= this.#limit) break
      this.#remove(oldest)
    }
  }

  purge(tags: readonly string[]): void {
    const now = this.#now()
    for (const [key, { page }] of this.#pages) if (page.tags.some(tag => tags.includes(tag))) this.#remove(key)
    for (const tag of tags) {
      this.#purged.delete(tag)
      this.#purged.set(tag, now)
    }
    for (const [tag, time] of this.#purged) {
      if (this.#purged.size <= purgeLimit) break
      this.#purged.delete(tag)
      this.#floor = time
    }
  }

  #remove(key: string): void {
    this.#size -= this.#pages.get(key)?.size ?? 0
    this.#pages.delete(key)
  }
}

/** Bytes in memory, with what an entry of a map and its objects take. */
function sizeOf(key: string, { body, headers, tags, variant }: StoredPage): number {
  const texts = [key, variant, ...tags, ...headers.flat()].join('').length
  return 500 + texts + (body === null ? 0 : Buffer.byteLength(body))
}

/** Changes with the form of a stored page: pages of another version of this package are none. */
const form = 'page 1'

/** Writes a page as bytes: a digest of all others, a line of JSON, and the body. */
export function toBytes({ body, ...head }: StoredPage): Buffer {
  const kind = body === null ? 'none' : typeof body === 'string' ? 'text' : 'bytes'
  const content = Buffer.concat([Buffer.from(`${JSON.stringify({ ...head, kind })}\n`), Buffer.from(body ?? '')])
  return Buffer.concat([digest(content), content])
}

/** Reads the bytes of {@link toBytes}. `undefined` for any others, such as half of a page. */
export function fromBytes(bytes: Buffer): StoredPage | undefined {
  const content = bytes.subarray(digestLength)
  if (!digest(content).equals(bytes.subarray(0, digestLength))) return undefined
  const end = content.indexOf('\n')
  // Only `toBytes` writes bytes with this digest.
  const { kind, ...head } = JSON.parse(content.toString('utf8', 0, end)) as StoredPage & { readonly kind: string }
  const body = content.subarray(end + 1)
  return { ...head, body: kind === 'none' ? null : kind === 'text' ? body.toString() : body }
}

const digestLength = 32

function digest(content: Buffer): Buffer {
  return createHash('sha256').update(form).update(content).digest()
}
