import path from 'node:path'
import { coalesce } from './coalesce.ts'
import type { FileSystem } from './file-system.ts'
import { IndexEntry, type RecordFile } from './index-entry.ts'
import { type Pin, PinFolder, toVersion } from './pin-folder.ts'
import { ProfileIndex } from './profile-index.ts'
import type { Segment } from './segment.ts'
import { SegmentFolder } from './segment-folder.ts'

/** What is known of a store: its segments and pins, and the profiles in them. */
export class ProfileCatalog {
  readonly index: ProfileIndex = new ProfileIndex()
  readonly folder: SegmentFolder
  readonly pins: PinFolder
  /** Finds out what other processes have done. Never rejects: what cannot be read is as it was. */
  readonly refresh: () => Promise<void> = coalesce(() => this.#refresh())
  readonly #onRefreshed: (found: readonly IndexEntry[], gone: readonly Segment[]) => void

  /** Tells of each look: which profiles of other processes were not known, and which segments are gone. */
  constructor(
    directory: string,
    fileSystem: FileSystem,
    writer: string,
    onRefreshed: (found: readonly IndexEntry[], gone: readonly Segment[]) => void,
  ) {
    this.folder = new SegmentFolder(directory, fileSystem, writer)
    this.pins = new PinFolder(path.join(directory, 'pinned'), fileSystem)
    this.#onRefreshed = onRefreshed
  }

  /** Forgets what stood in files that are gone, except where there is a copy. */
  forget(files: readonly RecordFile[]): void {
    if (files.length === 0) return
    const gone = new Set(files.map(file => file.path))
    const isGone = (entry: IndexEntry) => {
      const { place } = entry.version
      return place !== undefined && gone.has(place.file.path) && !this.#moveToCopy(entry)
    }
    // These are the oldest, mostly: there is no need to look at all.
    this.index.remove(isGone, Math.max(...files.map(file => file.newest)))
  }

  /** Forgets all profiles, except where there is a copy. */
  forgetAll(): void {
    this.index.remove(entry => !this.#moveToCopy(entry))
  }

  async #refresh(): Promise<void> {
    const { entries, gone } = await this.folder.refresh()
    const { added, removed } = await this.pins.refresh()
    const found = this.index.add(entries)
    this.index.add(added.filter(pin => this.#find(pin) === undefined).map(toEntry))
    this.forget([...gone, ...removed])
    this.#onRefreshed(found, gone)
  }

  #find({ line, writer }: Pin): IndexEntry | undefined {
    return this.index.find(line.summary.token, writer)
  }

  #moveToCopy(entry: IndexEntry): boolean {
    const pin = this.pins.find(entry)
    if (pin !== undefined) entry.show(toVersion(pin))
    return pin !== undefined
  }
}

function toEntry(pin: Pin): IndexEntry {
  return new IndexEntry(pin.writer, pin.line.keptAt, toVersion(pin))
}
