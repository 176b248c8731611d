import { probePath } from '../client/browser-probes.ts'
import { toTarget } from '../profile/format.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'

/**
 * Whether a browser made this request by itself and got a 404, for example for a missing icon: that is no error of the
 * application. So is the sub-request for the error page, which has the same URL.
 */
export function isBrowserProbe({ route, status, url }: ProfileSummary): boolean {
  if (status !== 404 || route !== null) return false
  return probePath.test(toTarget(url).replace(/\?.*/, ''))
}

/** The number of main requests that are searched. */
const searchLimit = 50

/** Milliseconds within which a page makes most of its requests. */
const pageSpan = 2_000

/**
 * Finds the latest stored main request, without the probes of browsers. If a page in a browser made the request
 * (`Sec-Fetch-Dest`, W3C Fetch Metadata), the result is the page.
 */
export async function findLatest(storage: Pick<ProfileStorage, 'search'>): Promise<ProfileSummary | undefined> {
  const { summaries } = await storage.search({ filters: [mainRequests], limit: searchLimit })
  const wanted = summaries.filter(summary => !isBrowserProbe(summary))
  const [newest = summaries[0]] = wanted
  if (newest === undefined || (newest.destination ?? 'document') === 'document') return newest
  const isPage = ({ contentType, time }: ProfileSummary) =>
    contentType?.startsWith('text/html') === true && newest.time - time <= pageSpan
  return wanted.find(isPage) ?? newest
}

/** Matches main requests: they have no parent, and the filter reads a missing parent as an empty text. */
export const mainRequests: ProfileFilter = { field: 'parent', test: 'among', value: new Set(['']) }
