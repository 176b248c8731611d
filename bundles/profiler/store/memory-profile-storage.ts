import { parseProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { BaseProfileStorage, type FoundProfile, ProfileQueue, type WaitingProfile } from './base-profile-storage.ts'
import type { SerializedProfile } from './profile-storage.ts'

/** Stores profiles in memory, without limits: for tests and short-lived processes. */
export class MemoryProfileStorage extends BaseProfileStorage<FoundProfile> {
  protected readonly unwritten: ProfileQueue = new ProfileQueue()
  readonly #profiles = new Map<string, WaitingProfile>()
  readonly #pinned = new Set<string>()

  constructor() {
    super(() => undefined)
  }

  protected get known(): readonly { readonly summary: ProfileSummary }[] {
    return [...this.#profiles.values()]
  }

  protected get writtenBytes(): number {
    return [...this.#profiles.values()].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  }

  protected get pinnedTokens(): Iterable<string> {
    return this.#pinned
  }

  has(token: string): boolean {
    return this.#profiles.has(token)
  }

  async purge(): Promise<void> {
    for (const token of this.#profiles.keys()) if (!this.#pinned.has(token)) this.#profiles.delete(token)
  }

  flushNow(): void {}

  /** The storage stays usable: another application may have the same one. */
  override async close(): Promise<void> {}

  protected async refresh(): Promise<void> {}

  protected async look(token: string): Promise<FoundProfile | undefined> {
    const known = this.#profiles.get(token)
    const profile = known && parseProfile(known.text, known.facts)
    return profile && known && { profile, facts: known.facts, isPinned: this.#pinned.has(token) }
  }

  protected add({ summary, text }: SerializedProfile, facts: string): boolean {
    this.#profiles.set(summary.token, { summary, text, facts })
    return true
  }

  protected async setPin(token: string, isPinned: boolean): Promise<boolean> {
    if (!this.has(token)) return false
    if (isPinned) this.#pinned.add(token)
    else this.#pinned.delete(token)
    return true
  }
}
