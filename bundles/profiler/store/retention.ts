import path from 'node:path'
import { coalesce } from './coalesce.ts'
import type { FileSystem } from './file-system.ts'
import { ignoring } from './ignoring.ts'
import type { ProfileCatalog } from './profile-catalog.ts'
import type { Segment } from './segment.ts'
import { endings, parseSegmentName } from './segment-name.ts'
import type { SegmentSize, SegmentWriter } from './segment-writer.ts'
import { type StoreLimits, selectExpired } from './select-expired.ts'

/** What a store is kept within its limits with. */
export interface RetentionOptions {
  readonly directory: string
  readonly fileSystem: FileSystem
  readonly catalog: ProfileCatalog
  readonly writer: SegmentWriter
  readonly limits: StoreLimits
  readonly size: SegmentSize
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Told when a segment cannot be removed. */
  readonly onError: (error: unknown) => void
}

/** Keeps a store within its limits by removing whole segments, and what a process that was killed has left. */
export class Retention {
  readonly #options: RetentionOptions
  /** Removes what is too much. Never rejects. */
  readonly run: () => Promise<void> = coalesce(() => this.#run())

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** Removes segments, and from the catalog what stood in them; never rejects. Those that are gone already are no failure. */
  async remove(segments: readonly Segment[]): Promise<void> {
    const { catalog, onError } = this.#options
    const removed: Segment[] = []
    for (const segment of segments) {
      try {
        // In this order: an index alone is nothing, but a segment alone is a whole one.
        await this.#unlink(segment.path)
        await this.#unlink(segment.indexPath)
        catalog.folder.delete(segment)
        removed.push(segment)
      } catch (error) {
        onError(error)
      }
    }
    catalog.forget(removed)
  }

  async #run(): Promise<void> {
    const { catalog, clock, limits, size, writer } = this.#options
    await catalog.refresh()
    const now = clock()
    const { segments } = catalog.folder
    const others = segments.filter(segment => segment !== writer.current)
    const isClosed = (segment: Segment) =>
      // Whoever has not written for so long begins a new segment, if it ever writes again.
      catalog.folder.isClosed(segment) || now - segment.modified > 2 * size.age
    const closed = others.filter(isClosed)
    const inUse = others.filter(segment => !closed.includes(segment))
    await this.remove(selectExpired({ closed, inUse, room: size }, limits, now))
    await this.#sweep().catch(() => undefined)
  }

  /** Removes indexes without a segment, and copies that were never completed. */
  async #sweep(): Promise<void> {
    const { directory, fileSystem } = this.#options
    const files = await fileSystem.readdir(directory)
    const segments = new Set(files.map(file => parseSegmentName(file, endings.data)?.name))
    for (const file of files) {
      const name = parseSegmentName(file, endings.index)?.name
      if (name !== undefined && !segments.has(name)) await this.#unlink(path.join(directory, file))
    }
    await this.#options.catalog.pins.sweep(this.#options.clock())
  }

  async #unlink(file: string): Promise<void> {
    await ignoring(['ENOENT'], () => this.#options.fileSystem.unlink(file))
  }
}
