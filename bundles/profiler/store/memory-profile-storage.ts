import { parseProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ReceivedSpan } from '../profile/span-data.ts'
import {
  BaseProfileStorage,
  type FoundProfile,
  type UnwrittenProfiles,
  type WaitingProfile,
} from './base-profile-storage.ts'
import { foundLimit, type SerializedProfile, type SpanStorage } from './profile-storage.ts'

/** Stores profiles in memory, without limits: for tests and short-lived processes. */
export class MemoryProfileStorage extends BaseProfileStorage<FoundProfile> {
  readonly spans: SpanStorage = new MemorySpanStorage()
  protected readonly unwritten: UnwrittenProfiles = {
    length: 0,
    dropped: 0,
    problem: undefined,
    isFailing: false,
    flush: async () => undefined,
  }
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
    await this.spans.purge()
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

/** The number of spans in memory. */
const spanLimit = 10_000

/** Stores spans in memory. */
class MemorySpanStorage implements SpanStorage {
  #spans: readonly ReceivedSpan[] = []

  async append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    this.#spans = [...this.#spans, ...spans].slice(-spanLimit)
    return true
  }

  async find(traceId: string): Promise<readonly ReceivedSpan[]> {
    const found = this.#spans.filter(span => span.traceId === traceId)
    return [...new Map(found.map(span => [span.spanId, span])).values()].slice(-foundLimit)
  }

  async purge(): Promise<void> {
    this.#spans = []
  }
}
