import { setTimeout as wait } from 'node:timers/promises'
import { parseProfile } from '../profile/parse-profile.ts'
import type { Profile } from '../profile/profile.ts'
import { isToken } from '../profile/schema.ts'
import type { FileSystem } from './file-system.ts'
import type { IndexEntry, RecordText } from './index-entry.ts'
import type { ProfileCatalog } from './profile-catalog.ts'
import { readRecord } from './read-record.ts'
import { within } from './within.ts'

/** A profile that was found, with the text it was read from. */
export interface FoundProfile {
  readonly entry: IndexEntry
  readonly profile: Profile
  readonly text: RecordText
}

/** Milliseconds that the disk has to answer. */
export const diskPatience = 2000

/** Milliseconds that another process has to write what somebody asks for. */
const writerPatience = 1000

/** Milliseconds between two looks at what other processes write. */
const interval = 20

/** Finds profiles by their tokens: in memory what is not written yet, and on the disk, whoever has written it. */
export class ProfileFinder {
  readonly #catalog: ProfileCatalog
  readonly #fileSystem: FileSystem
  readonly #writer: string

  /** What `writer` has written is known; for anything else it looks again. */
  constructor(catalog: ProfileCatalog, fileSystem: FileSystem, writer: string) {
    this.#catalog = catalog
    this.#fileSystem = fileSystem
    this.#writer = writer
  }

  /** The newest profile of a token; `undefined` when there is none, or when it is damaged. */
  async find(token: string): Promise<FoundProfile | undefined> {
    if (!isToken(token)) return undefined
    const known = this.#catalog.index.find(token)
    const own = known?.writer === this.#writer ? await this.#read(known) : undefined
    if (own !== undefined) return own
    const entry = await this.locate(token)
    return entry && (await this.#read(entry))
  }

  /** The entry of a token, also of one that another process is about to write. */
  async locate(token: string): Promise<IndexEntry | undefined> {
    const { folder, index, refresh } = this.#catalog
    await within(diskPatience, refresh())
    const end = performance.now() + writerPatience
    while (index.find(token) === undefined && folder.hasOtherWriters && performance.now() < end) {
      await wait(interval)
      await within(diskPatience, refresh())
    }
    return index.find(token)
  }

  async #read(entry: IndexEntry): Promise<FoundProfile | undefined> {
    const text = entry.version.text ?? (await this.#readPlace(entry))
    const profile = text && parseProfile(text.record, text.facts)
    // What stands there may be another one's.
    return profile?.summary.token === entry.token && text ? { entry, profile, text } : undefined
  }

  async #readPlace({ version: { place } }: IndexEntry): Promise<RecordText | undefined> {
    return place && within(diskPatience, readRecord(this.#fileSystem, place))
  }
}
