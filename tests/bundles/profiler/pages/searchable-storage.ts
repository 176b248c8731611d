import type { ProfileSummary } from '../../../../bundles/profiler/profile.ts'
import { MemoryProfileStorage } from '../../../../bundles/profiler/store/memory-profile-storage.ts'
import type {
  ProfileFilter,
  ProfileQuery,
  ProfileRecord,
  ProfileSearchResult,
  StoredProfile,
} from '../../../../bundles/profiler/store/profile-storage.ts'

/** A store in memory that looks at every record for every search, and gives what it was given, valid or not. */
export class SearchableStorage extends MemoryProfileStorage {
  readonly #given = new Map<string, string>()
  readonly #pinned = new Set<string>()

  override append(record: ProfileRecord, facts: string): void {
    super.append(record, facts)
    this.#given.set(record.summary.token, record.text)
  }

  override async find(token: string): Promise<StoredProfile | undefined> {
    const text = this.#given.get(token)
    if (text === undefined || !this.has(token)) return undefined
    return { profile: JSON.parse(text), facts: {}, isPinned: this.#pinned.has(token) }
  }

  override pin(token: string, isPinned: boolean): Promise<boolean> {
    if (isPinned) this.#pinned.add(token)
    else this.#pinned.delete(token)
    return super.pin(token, isPinned)
  }

  override async search({ filters = [], sort, offset = 0, limit }: ProfileQuery): Promise<ProfileSearchResult> {
    const { summaries } = await super.search({ limit: Number.MAX_SAFE_INTEGER })
    const found = summaries.filter(summary => filters.every(filter => holds(filter, summary)))
    if (sort !== undefined) {
      const sign = sort.direction === 'ascending' ? 1 : -1
      found.sort((a, b) => sign * compare(a[sort.field], b[sort.field]))
    }
    return { summaries: found.slice(offset, offset + limit), total: found.length }
  }
}

function holds({ field, test, value }: ProfileFilter, summary: ProfileSummary): boolean {
  const found = summary[field] ?? ''
  switch (test) {
    case 'contains':
      return String(found).includes(value)
    case 'lacks':
      return !String(found).includes(value)
    case 'from':
      return Number(found) >= value
    case 'until':
      return Number(found) <= value
  }
}

function compare(a: string | number | null, b: string | number | null): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b))
}
