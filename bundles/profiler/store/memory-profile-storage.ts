import type { Profile, ProfileSummary } from '../profile.ts'
import type {
  ProfileQuery,
  ProfileRecord,
  ProfileSearchResult,
  ProfileStorage,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'

/** Keeps profiles in memory. */
export class MemoryProfileStorage implements ProfileStorage {
  readonly #records = new Map<string, { record: ProfileRecord; facts: string; isPinned: boolean }>()
  readonly #listeners = new Set<(summary: ProfileSummary) => void>()

  append(record: ProfileRecord, facts: string): void {
    this.#records.set(record.summary.token, { record, facts, isPinned: false })
    for (const listener of this.#listeners) listener(record.summary)
  }

  amend(record: ProfileRecord, facts: string): void {
    this.append(record, facts)
  }

  async pin(token: string, isPinned: boolean): Promise<boolean> {
    const known = this.#records.get(token)
    if (known !== undefined) known.isPinned = isPinned
    return known !== undefined
  }

  has(token: string): boolean {
    return this.#records.has(token)
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const known = this.#records.get(token)
    if (known === undefined) return undefined
    const profile: Profile = JSON.parse(known.record.text)
    return { profile, facts: JSON.parse(known.facts), isPinned: known.isPinned }
  }

  async search({ limit, offset = 0 }: ProfileQuery): Promise<ProfileSearchResult> {
    const summaries = [...this.#records.values()].map(({ record }) => record.summary).toReversed()
    return { summaries: summaries.slice(offset, offset + limit), total: summaries.length }
  }

  tail(listener: (summary: ProfileSummary) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async purge(): Promise<void> {
    for (const [token, { isPinned }] of this.#records) if (!isPinned) this.#records.delete(token)
  }

  async usage(): Promise<StorageUsage> {
    const bytes = [...this.#records.values()].reduce((sum, { record }) => sum + Buffer.byteLength(record.text), 0)
    return { profiles: this.#records.size, bytes, dropped: 0, problem: undefined }
  }

  async flush(): Promise<void> {}

  flushNow(): void {}

  async close(): Promise<void> {}
}
