import { formatNumber } from '../profile/format.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { selectSorted } from '../store/base-profile-storage.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { type Family, groupFamilies, listMembers, readLimit } from './families.ts'
import { type Bucket, createHistogram } from './histogram.ts'
import { isBrowserProbe } from './latest.ts'
import { hasMark, type MarkContext, recognizeSlow } from './list-marks.ts'
import { type ListMark, type ListRequest, marks } from './list-request.ts'

/** A profile in the list. */
export interface ListEntry {
  readonly summary: ProfileSummary
  /** 0, or the depth of a sub-request below its main request, which is on the same page. */
  readonly depth: number
  /** The main request at the head of the family; a sub-request that is listed without one is its own. */
  readonly main: ProfileSummary
}

/** A page of the list, and what is known of all of its pages. */
export interface ListResult {
  /** Each main request is followed by its sub-requests. */
  readonly profiles: readonly ListEntry[]
  /** The number of profiles on all pages. */
  readonly total: number
  /** The number of profiles with each mark, independent of the marks in the search. */
  readonly counts: Readonly<Record<ListMark | 'all', number>>
  readonly histogram: readonly Bucket[]
  /** The main requests that browsers made by themselves, and that are left out; of those that match. */
  readonly probes: readonly ProfileSummary[]
  /** All main requests, independent of the search: they give the choices of the form. */
  readonly mains: readonly ProfileSummary[]
  readonly pinned: ReadonlySet<string>
  /** Tokens of the profiles that are only in memory, because writing fails; absent when writing works. */
  readonly unstored?: ReadonlySet<string>
}

/** The words for the number of profiles on a page of the list, and on all pages; the latter are empty if there is one page. */
export function describeCount(count: number, total: number): { readonly found: string; readonly inAll: string } {
  return {
    found: `${count === 0 ? 'No' : formatNumber(count)} results found`,
    inAll: count === total ? '' : `${formatNumber(total)} in all`,
  }
}

/** What a search needs to know of its client. */
export interface ListContext {
  /** The client that looks at the list, as in a summary. */
  readonly client?: string
  /** Finds those of these tokens whose profiles have findings. */
  readonly findFindings?: (tokens: readonly string[]) => Promise<ReadonlySet<string>>
}

/** The number of profiles whose findings are looked at: the newest that match. Findings need the whole profile. */
const findingLimit = 200

/** Searches the requested page of the list: main requests and sub-requests that match by themselves. */
export async function searchList(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  { client, findFindings = async () => new Set() }: ListContext = {},
): Promise<ListResult> {
  const [pinned, { summaries, unstored }] = await Promise.all([storage.pinned(), storage.search({ limit: readLimit })])
  const { isOfProbes, isPinned, matches, query } = wanted
  const found = summaries.filter(summary => matches(summary) && (!isPinned || pinned.has(summary.token)))
  const probes = found.filter(isBrowserProbe)
  const left = new Set(probes)
  const matching = isOfProbes ? probes : found.filter(summary => !left.has(summary))
  const mains = summaries.filter(isMain)
  const newest = matching.slice(0, findingLimit).map(({ token }) => token)
  const context = { client, isSlow: recognizeSlow(mains), findings: await findFindings(newest) }
  const { counts, marked } = selectMarked(matching, wanted, context)
  return {
    profiles: listPage(marked, query),
    total: marked.length,
    counts,
    histogram: createHistogram(
      marked.map(summary => ({ time: summary.time, isError: hasMark('errors', summary, context) })),
    ),
    probes: isOfProbes ? [] : probes.filter(isMain),
    mains,
    pinned,
    ...(unstored && { unstored }),
  }
}

function isMain({ parent }: ProfileSummary): boolean {
  return parent === null
}

/**
 * Searches all main requests that match, the newest first, or sub-requests if these are wanted; `context` is needed by some
 * marks. `mains` has the others, too.
 */
export async function searchMains(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  context?: ListContext,
): Promise<Pick<ListResult, 'mains'> & { readonly found: readonly ProfileSummary[] }> {
  const query = { ...wanted.query, offset: 0, limit: Number.MAX_SAFE_INTEGER }
  const { mains, profiles } = await searchList(storage, { ...wanted, query }, context)
  const isOfSubRequests = wanted.parameters.type === 'sub-request'
  const found = profiles.map(({ summary }) => summary).filter(summary => isOfSubRequests || isMain(summary))
  return { mains, found }
}

/** Searches all profiles that match by themselves, the newest first: main requests and sub-requests. */
export async function searchProfiles(
  storage: Pick<ProfileStorage, 'search'>,
  { matches }: ListRequest,
): Promise<ProfileSummary[]> {
  const { summaries } = await storage.search({ limit: readLimit })
  return summaries.filter(matches)
}

/** Counts the profiles with each mark, and selects those with all marks that are wanted. */
function selectMarked(
  matching: readonly ProfileSummary[],
  wanted: ListRequest,
  context: MarkContext,
): Pick<ListResult, 'counts'> & { readonly marked: readonly ProfileSummary[] } {
  const counts = { all: matching.length, main: 0, errors: 0, slow: 0, findings: 0, '4xx': 0, api: 0, client: 0 }
  const marked = matching.filter(summary => {
    const found = marks.filter(mark => hasMark(mark, summary, context))
    for (const mark of found) counts[mark]++
    return wanted.marks.every(mark => found.includes(mark))
  })
  return { counts, marked }
}

/** Lists a page of profiles, the newest first: families in the requested order of their main requests. */
function listPage(found: readonly ProfileSummary[], { limit, offset, sort }: ListRequest['query']): ListEntry[] {
  const end = offset + limit
  const groups = groupFamilies(found)
  const listed: ListEntry[] = []
  for (const family of sort === undefined ? groups : selectSorted(groups, ({ main }) => main, end, sort)) {
    if (listed.length >= end) break
    listed.push(...listFamily(family))
  }
  const page = listed.slice(offset, end)
  // The head of a family may be on the page before.
  const first = page.findIndex(({ depth }) => depth === 0)
  const cut = first === -1 ? page.length : first
  return page.map((profile, index) => (index < cut ? { ...profile, depth: 0, main: profile.summary } : profile))
}

function listFamily(family: Family): ListEntry[] {
  const { main } = family
  const members = listMembers(family).map(member => ({ ...member, main }))
  return [{ summary: main, depth: 0, main }, ...members]
}
