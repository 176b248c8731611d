import { parseProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type {
  ProfileQuery,
  ProfileRecord,
  ProfileSearchResult,
  ProfileStorage,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'
import { ProfileTail, type TailListener } from './profile-tail.ts'
import { searchSummaries } from './search-summaries.ts'

/** Keeps profiles in memory, without limits: for tests, and for processes that end soon. */
export class MemoryProfileStorage implements ProfileStorage {
  readonly #kept = new Map<string, Kept>()
  // Nobody is there to be told of a listener that fails.
  readonly #tail = new ProfileTail(() => undefined)

  append(record: ProfileRecord, facts: string): void {
    const { summary, text } = record
    const isPinned = this.#kept.get(summary.token)?.isPinned ?? false
    this.#kept.set(summary.token, { summary, text, facts, isPinned })
    this.#tail.tell(summary)
  }

  amend(record: ProfileRecord, facts: string): void {
    this.append(record, facts)
  }

  async pin(token: string, isPinned: boolean): Promise<boolean> {
    const known = this.#kept.get(token)
    if (known !== undefined) known.isPinned = isPinned
    return known !== undefined
  }

  async pinned(): Promise<ReadonlySet<string>> {
    const pinned = Array.from(this.#kept).filter(([, { isPinned }]) => isPinned)
    return new Set(pinned.map(([token]) => token))
  }

  has(token: string): boolean {
    return this.#kept.has(token)
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const known = this.#kept.get(token)
    const profile = known && parseProfile(known.text, known.facts)
    return profile && known && { profile, facts: profile.processData, isPinned: known.isPinned }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    return searchSummaries([...this.#kept.values()], query)
  }

  async load(): Promise<void> {}

  tail(listener: TailListener): () => void {
    return this.#tail.add(listener, 0)
  }

  async purge(): Promise<void> {
    for (const [token, { isPinned }] of this.#kept) if (!isPinned) this.#kept.delete(token)
  }

  async usage(): Promise<StorageUsage> {
    const bytes = [...this.#kept.values()].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    return { profiles: this.#kept.size, bytes, dropped: 0, problem: undefined }
  }

  async flush(): Promise<void> {}

  flushNow(): void {}

  async close(): Promise<void> {}
}

interface Kept {
  readonly summary: ProfileSummary
  readonly text: string
  readonly facts: string
  isPinned: boolean
}
