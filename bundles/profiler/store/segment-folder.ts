import type { FileSystem } from './file-system.ts'
import { ignoring } from './ignoring.ts'
import type { IndexEntry } from './index-entry.ts'
import { isRunning } from './is-running.ts'
import { Segment } from './segment.ts'
import { endings, parseSegmentName, type SegmentName } from './segment-name.ts'
import { SegmentReader } from './segment-reader.ts'

/** What has changed in the folder. */
export interface FolderChanges {
  /** Profiles of other processes, in the order in which each has written them. */
  readonly entries: readonly IndexEntry[]
  /** Segments that somebody has removed. */
  readonly gone: readonly Segment[]
}

/** The segments in the directory: of this process as it writes them, of others as they are found there. */
export class SegmentFolder {
  readonly #directory: string
  readonly #fileSystem: FileSystem
  readonly #writer: string
  readonly #segments = new Map<string, Segment>()
  /** Of other processes. What is closed was read to its end and is not looked at again. */
  readonly #readers = new Map<Segment, SegmentReader>()
  #onProgress: ((done: number, total: number) => void) | undefined

  constructor(directory: string, fileSystem: FileSystem, writer: string) {
    this.#directory = directory
    this.#fileSystem = fileSystem
    this.#writer = writer
  }

  get segments(): readonly Segment[] {
    return [...this.#segments.values()]
  }

  /** Whether another process that runs may still write. */
  get hasOtherWriters(): boolean {
    return this.#readers.size > 0
  }

  /** Whether nobody writes to the segment any more, as far as is known: its process has begun another, or is gone. */
  isClosed(segment: Segment): boolean {
    return !this.#readers.has(segment)
  }

  /** Tells how many of the segments that are to be read were read; returns what ends that. */
  observe(onProgress: (done: number, total: number) => void): () => void {
    this.#onProgress = onProgress
    return () => {
      this.#onProgress = undefined
    }
  }

  /** Adds a segment that this process has begun. */
  add(segment: Segment): void {
    this.#segments.set(segment.name.name, segment)
  }

  /** Takes a segment off the list. */
  delete(segment: Segment): void {
    this.#segments.delete(segment.name.name)
    this.#readers.delete(segment)
  }

  /** Finds out what has come and gone; nothing when the directory cannot be read. */
  async refresh(): Promise<FolderChanges> {
    // Before the listing: what this process begins meanwhile is not gone because it is not listed.
    const known = this.segments
    const names = await this.#list()
    if (names === undefined) return { entries: [], gone: [] }
    const gone = known.filter(({ name }) => !names.has(name.name))
    for (const segment of gone) this.delete(segment)
    for (const name of names.values()) this.#discover(name)
    return { entries: await this.#readOthers(), gone }
  }

  async #list(): Promise<Map<string, SegmentName> | undefined> {
    try {
      const files = (await ignoring(['ENOENT'], () => this.#fileSystem.readdir(this.#directory))) ?? []
      const names = files.sort().flatMap(file => parseSegmentName(file, endings.data) ?? [])
      return new Map(names.map(name => [name.name, name]))
    } catch {
      return undefined
    }
  }

  #discover(name: SegmentName): void {
    if (name.writer === this.#writer || this.#segments.has(name.name)) return
    const segment = new Segment(this.#directory, name)
    this.add(segment)
    this.#readers.set(segment, new SegmentReader(segment, this.#fileSystem))
  }

  async #readOthers(): Promise<IndexEntry[]> {
    const read: IndexEntry[][] = []
    const names = this.segments.map(({ name }) => name).sort((one, other) => one.time - other.time)
    const latest = new Map(names.map(({ name, writer }) => [writer, name]))
    // One after another, on purpose: requests come first.
    const readers = [...this.#readers]
    for (const [index, [segment, reader]] of readers.entries()) {
      const { name, pid, writer } = segment.name
      // Known before it is read: what is closed now will not grow any more.
      const isClosed = latest.get(writer) !== name || !isRunning(pid)
      read.push(await reader.read())
      if (isClosed) this.#readers.delete(segment)
      this.#onProgress?.(index + 1, readers.length)
    }
    return read.flat()
  }
}
