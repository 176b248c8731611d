import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { readRegularFile } from '../../lib/folders.ts'
import { fromBytes, type PageStore, type StoredPage, toBytes } from './page-store.ts'

/** The share of the limit that is written between two sweeps. */
const sweepShare = 1 / 10

/** Milliseconds in which a page is made at most: a purge before is not needed for it. */
const longestWork = 60 * 60 * 1000

/**
 * Stores pages as files of a folder, for all processes of a machine. The file of a tag has the
 * time of its purge. A sweep removes the oldest pages above the limit of bytes.
 */
export class FilePageStore implements PageStore {
  readonly #directory: string
  readonly #limit: number
  readonly #now: () => number
  #written = 0
  #sweeping: Promise<void> | undefined

  constructor(directory: string, limit: number, now: () => number = Date.now) {
    this.#directory = directory
    this.#limit = limit
    this.#now = now
  }

  async read(key: string): Promise<StoredPage | undefined> {
    const bytes = await readRegularFile(this.#fileOf(key))
    const page = bytes && fromBytes(bytes)
    if (page === undefined || page.staleUntil <= this.#now()) return undefined
    const purges = await Promise.all(page.tags.map(tag => readRegularFile(this.#fileOfTag(tag))))
    return purges.some(time => Number(time ?? 0) >= page.createdAt) ? undefined : page
  }

  async write(key: string, page: StoredPage): Promise<void> {
    const bytes = toBytes(page)
    if (bytes.length > this.#limit / 8) return
    await this.#write(this.#fileOf(key), bytes)
    this.#written += bytes.length
    if (this.#written < this.#limit * sweepShare) return
    this.#written = 0
    this.#sweeping ??= this.sweep().finally(() => {
      this.#sweeping = undefined
    })
  }

  async purge(tags: readonly string[]): Promise<void> {
    const time = Buffer.from(String(this.#now()))
    await Promise.all(tags.map(tag => this.#write(this.#fileOfTag(tag), time)))
  }

  /** Removes the oldest pages above the limit, and tags that no page can have. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#directory)
    const files = await Promise.all(names.map(name => this.#describe(name)))
    const found = files.filter(file => file !== undefined).sort((one, other) => other.changed - one.changed)
    let bytes = 0
    let oldest = this.#now()
    const removed = found.filter(({ changed, isTag, size }) => {
      if (isTag) return false
      bytes += size
      if (bytes <= this.#limit) oldest = changed
      return bytes > this.#limit
    })
    const old = found.filter(({ changed, isTag }) => isTag && changed < oldest - longestWork)
    await Promise.all([...removed, ...old].map(({ file }) => rm(file, { force: true })))
  }

  /** Waits for a sweep. */
  async close(): Promise<void> {
    await this.#sweeping
  }

  async #describe(name: string) {
    const file = path.join(this.#directory, name)
    const stats = await stat(file).catch(() => undefined)
    return stats && { file, changed: stats.mtimeMs, isTag: name.startsWith('tag-'), size: stats.size }
  }

  /** Other processes see the whole file or the one before. */
  async #write(file: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const temporary = `${file}.${randomUUID()}`
    await writeFile(temporary, bytes, { flag: 'wx', mode: 0o600 })
    await rename(temporary, file)
  }

  #fileOf(key: string): string {
    return path.join(this.#directory, key)
  }

  #fileOfTag(tag: string): string {
    return path.join(this.#directory, `tag-${createHash('sha256').update(tag).digest('base64url')}`)
  }
}
