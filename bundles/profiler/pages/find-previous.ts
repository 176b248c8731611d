import type { ProfileSummary } from '../profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'

/** So many that look alike are looked at. */
const limit = 200

/** Finds the record before one that asked for the same: by its method and route; without a route, by its path. */
export async function findPrevious(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<ProfileSummary | undefined> {
  const { method, route, time, token, url } = summary
  const filters: ProfileFilter[] = [
    { field: 'time', test: 'until', value: time },
    { field: 'method', test: 'contains', value: method },
    route === null
      ? { field: 'url', test: 'contains', value: withoutQuery(url) }
      : { field: 'route', test: 'contains', value: route },
  ]
  const { summaries } = await storage.search({ filters, limit, sort: { field: 'time', direction: 'descending' } })
  return summaries.find(other => other.token !== token && asksForSame(other, summary))
}

function asksForSame(one: ProfileSummary, other: ProfileSummary): boolean {
  const keys = [one, other].map(({ controller, method, parent, route, url }) => {
    const target = route === null ? withoutQuery(url) : ''
    // Many sub-requests may have the address of their main request.
    return JSON.stringify([method, route, target, parent === null ? '' : controller, parent === null])
  })
  return keys[0] === keys[1]
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}
