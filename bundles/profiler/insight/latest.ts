import { probePath } from '../client/browser-probes.ts'
import { toTarget } from '../profile/format.ts'
import { readHeader } from '../profile/format-value.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'

/** Whether a browser has asked by itself for something that is not there, which is no mistake of the application. */
export function isBrowserProbe({ parent, route, status, url }: ProfileSummary): boolean {
  const [path = ''] = toTarget(url).split('?')
  return status === 404 && route === null && parent === null && probePath.test(path)
}

/** How many main requests are looked at. */
const searchLimit = 50

/** Milliseconds within which a page makes most of its requests. */
const pageSpan = 2_000

/**
 * Finds the main request that was kept last, without those that browsers make by themselves. A request that a page of a
 * browser has made, by its `Sec-Fetch-Dest` (W3C Fetch Metadata), gives the page instead.
 */
export async function findLatest(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
): Promise<ProfileSummary | undefined> {
  const { summaries } = await storage.search({ filters: [mainRequests], limit: searchLimit })
  const wanted = summaries.filter(summary => !isBrowserProbe(summary))
  const [newest = summaries[0]] = wanted
  if (newest === undefined) return undefined

  const found = await storage.find(newest.token)
  const [destination = 'document'] = readHeader(found?.profile.collectors.request, 'sec-fetch-dest')
  if (destination === 'document') return newest
  const isPage = ({ contentType, time }: ProfileSummary) =>
    contentType?.startsWith('text/html') === true && newest.time - time <= pageSpan
  return wanted.find(isPage) ?? newest
}

/** Keeps main requests: they have no parent, which reads as an empty text. */
export const mainRequests: ProfileFilter = { field: 'parent', test: 'among', value: new Set(['']) }
