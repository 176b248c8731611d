import type { ProfileSearchResult, ProfileStorage } from '../store/profile-storage.ts'
import type { ListRequest } from './parse-list-request.ts'

/** What a search of the list finds, and which of all records are pinned. */
export interface ListResult extends ProfileSearchResult {
  readonly pinned: ReadonlySet<string>
}

/** Searches for what the list is asked for. */
export async function searchList(storage: ProfileStorage, { isPinned, query }: ListRequest): Promise<ListResult> {
  const pinned = await storage.pinned()
  const filters = isPinned
    ? [...query.filters, { field: 'token', test: 'among', value: pinned } as const]
    : query.filters
  return { ...(await storage.search({ ...query, filters })), pinned }
}
