import { parseProfile } from '../profile/profile.ts'
import type {
  ProfileChange,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SerializedProfile,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'
import { ProfileTail, type TailListener } from './profile-tail.ts'
import { searchSummaries } from './search-summaries.ts'
import { MemorySpanStorage, type SpanStorage } from './span-storage.ts'

/** Stores profiles in memory, without limits: for tests and short-lived processes. */
export class MemoryProfileStorage implements ProfileStorage {
  readonly spans: SpanStorage = new MemorySpanStorage()
  readonly #profiles = new Map<string, SerializedProfile & { readonly facts: string }>()
  readonly #pinned = new Set<string>()
  readonly #tail = new ProfileTail(() => undefined)

  append({ summary, text }: SerializedProfile, facts: string): void {
    this.#profiles.set(summary.token, { summary, text, facts })
    this.#tail.pass(summary)
  }

  async amend(token: string, change: ProfileChange): Promise<boolean> {
    const known = this.#profiles.get(token)
    const profile = known && parseProfile(known.text, known.facts)
    if (known === undefined || profile === undefined) return false
    const changed = change(profile)
    if (changed !== undefined) this.append(changed, known.facts)
    return true
  }

  async pin(token: string, isPinned: boolean): Promise<boolean> {
    if (!this.has(token)) return false
    if (isPinned) this.#pinned.add(token)
    else this.#pinned.delete(token)
    return true
  }

  async pinned(): Promise<ReadonlySet<string>> {
    return new Set(this.#pinned)
  }

  has(token: string): boolean {
    return this.#profiles.has(token)
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const known = this.#profiles.get(token)
    const profile = known && parseProfile(known.text, known.facts)
    return profile && known && { profile, isPinned: this.#pinned.has(token) }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    return searchSummaries([...this.#profiles.values()], query)
  }

  async load(): Promise<void> {}

  tail(listener: TailListener): () => void {
    return this.#tail.add(listener)
  }

  async purge(): Promise<void> {
    for (const token of this.#profiles.keys()) if (!this.#pinned.has(token)) this.#profiles.delete(token)
    await this.spans.purge()
  }

  async usage(): Promise<StorageUsage> {
    const bytes = [...this.#profiles.values()].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    return { profiles: this.#profiles.size, bytes, dropped: 0, problem: undefined }
  }

  async flush(): Promise<void> {}

  flushNow(): void {}

  async close(): Promise<void> {}
}
