import type { ProfileSummary } from '../../../../bundles/profiler/profile.ts'
import { MemoryProfileStorage } from '../../../../bundles/profiler/store/memory-profile-storage.ts'
import type {
  ProfileFilter,
  ProfileQuery,
  ProfileSearchResult,
} from '../../../../bundles/profiler/store/profile-storage.ts'

/** A store in memory that looks at every record for every search. */
export class SearchableStorage extends MemoryProfileStorage {
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

function holds(filter: ProfileFilter, summary: ProfileSummary): boolean {
  const value = summary[filter.field]
  switch (filter.test) {
    case 'contains':
      return String(value ?? '').includes(filter.value)
    case 'lacks':
      return !String(value ?? '').includes(filter.value)
    case 'from':
      return Number(value) >= filter.value
    case 'until':
      return Number(value) <= filter.value
  }
}

function compare(a: string | number | null, b: string | number | null): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b))
}
