import { toTarget } from '../format/to-target.ts'
import type { ProfileSummary } from '../profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** What browsers and crawlers ask for by themselves. */
const probePath = /^\/(?:favicon\.ico|robots\.txt|apple-touch-icon[^/]*|\.well-known\/.*)$/

/** Whether a browser has asked by itself for something that is not there, which is no mistake of the application. */
export function isBrowserProbe({ parent, route, status, url }: ProfileSummary): boolean {
  const [path = ''] = toTarget(url).split('?')
  return status === 404 && route === null && parent === null && probePath.test(path)
}

/** How many main requests are looked at. */
const searchLimit = 50

/** Milliseconds that the calls of a page begin after it, mostly. */
const pageSpan = 2_000

/**
 * Finds the main request that was kept last, without those that browsers make by themselves. Where a document began just
 * before it, what came later belongs to that page: the document counts.
 */
export async function findLatest(storage: Pick<ProfileStorage, 'search'>): Promise<ProfileSummary | undefined> {
  const isMain = { field: 'parent', test: 'among', value: new Set(['']) } as const
  const { summaries } = await storage.search({ filters: [isMain], limit: searchLimit })
  const wanted = summaries.filter(summary => !isBrowserProbe(summary))
  const [newest = summaries[0]] = wanted
  const isDocument = ({ contentType, time }: ProfileSummary) =>
    contentType?.startsWith('text/html') === true && Math.abs(Number(newest?.time) - time) <= pageSpan
  return wanted.find(isDocument) ?? newest
}
