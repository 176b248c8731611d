import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileQuery, ProfileStorage } from '../store/profile-storage.ts'
import { selectSorted } from '../store/search-summaries.ts'
import { type Family, groupFamilies, readLimit } from './families.ts'
import { type Bucket, createHistogram } from './histogram.ts'
import { isBrowserProbe } from './latest.ts'
import { hasMark, type MarkContext, recognizeSlow } from './list-marks.ts'
import { type ListMark, type ListRequest, marks } from './list-request.ts'

/** A family in the list. */
export interface ListedFamily extends Family {
  /** The sub-requests that match, if the main request does not. */
  readonly matches: ReadonlySet<ProfileSummary>
}

/** A page of the list, and what is known of all of its pages. */
export interface ListResult {
  readonly families: readonly ListedFamily[]
  /** The number of families on all pages. */
  readonly total: number
  /** The number of families with each mark, whatever marks are wanted. */
  readonly counts: Readonly<Record<ListMark | 'all', number>>
  readonly histogram: readonly Bucket[]
  /** The requests that browsers made by themselves, and that are left out; of those that match. */
  readonly probes: readonly ProfileSummary[]
  /** All main requests, whatever is wanted: for the choices of a form. */
  readonly mains: readonly ProfileSummary[]
  readonly pinned: ReadonlySet<string>
  /** Tokens of the profiles that are only in memory, because writing fails; absent when writing works. */
  readonly unstored?: ReadonlySet<string>
}

/** What a search needs to know of its client. */
export interface ListContext {
  /** The client that looks at the list, as in a summary. */
  readonly client?: string
  /** Finds those of these tokens whose profiles have findings. */
  readonly findFindings?: (tokens: readonly string[]) => Promise<ReadonlySet<string>>
}

/** The number of main requests whose findings are looked at: the newest that match. Findings need the whole profile. */
const findingLimit = 200

/** Searches the requested page of the list: main requests, each with its sub-requests. */
export async function searchList(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  { client, findFindings = async () => new Set() }: ListContext = {},
): Promise<ListResult> {
  const [pinned, { summaries, unstored }] = await Promise.all([storage.pinned(), storage.search({ limit: readLimit })])
  const all = wanted.isOfSubRequests
    ? summaries.filter(({ parent }) => parent !== null).map(main => ({ main, members: [] }))
    : groupFamilies(summaries)
  const found = selectMatching(all, wanted, pinned)
  const probes = found.filter(({ main }) => isBrowserProbe(main))
  const left = new Set(probes)
  const matching = wanted.isOfProbes ? probes : found.filter(family => !left.has(family))
  const mains = all.map(({ main }) => main)
  const newest = matching.slice(0, findingLimit).map(({ main }) => main.token)
  const context = { client, isSlow: recognizeSlow(mains), findings: await findFindings(newest) }
  const { counts, families } = selectMarked(matching, wanted, context)
  const { limit, offset, sort } = wanted.query
  return {
    families: sortFamilies(families, sort, offset + limit).slice(offset),
    total: families.length,
    counts,
    histogram: createHistogram(
      families.map(({ main }) => ({ time: main.time, isError: hasMark('errors', main, context) })),
    ),
    probes: wanted.isOfProbes ? [] : probes.map(({ main }) => main),
    mains,
    pinned,
    ...(unstored && { unstored }),
  }
}

/**
 * Searches all main requests that match by themselves, the newest first; `context` is needed by some marks. The others are in
 * `mains`, too.
 */
export async function searchMains(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  context?: ListContext,
): Promise<Pick<ListResult, 'mains'> & { readonly found: readonly ProfileSummary[] }> {
  const query = { ...wanted.query, offset: 0, limit: Number.MAX_SAFE_INTEGER }
  const { families, mains } = await searchList(storage, { ...wanted, query }, context)
  return { mains, found: families.filter(({ matches }) => matches.size === 0).map(({ main }) => main) }
}

/** Searches all profiles that match by themselves, the newest first: main requests and sub-requests. */
export async function searchProfiles(
  storage: Pick<ProfileStorage, 'search'>,
  { matches }: ListRequest,
): Promise<ProfileSummary[]> {
  const { summaries } = await storage.search({ limit: readLimit })
  return summaries.filter(matches)
}

const none: ReadonlySet<ProfileSummary> = new Set()

function selectMatching(
  families: readonly Family[],
  { isFiltering, isPinned, matches }: ListRequest,
  pinned: ReadonlySet<string>,
): ListedFamily[] {
  const isWanted = (summary: ProfileSummary) => matches(summary) && (!isPinned || pinned.has(summary.token))
  if (!isFiltering && !isPinned) return families.map(family => ({ ...family, matches: none }))
  return families.flatMap(family => {
    if (isWanted(family.main)) return { ...family, matches: none }
    const found = family.members.filter(isWanted)
    return found.length === 0 ? [] : { ...family, matches: new Set(found) }
  })
}

/** Counts the families with each mark, and selects those with all marks that are wanted. */
function selectMarked(
  families: readonly ListedFamily[],
  wanted: ListRequest,
  context: MarkContext,
): Pick<ListResult, 'counts' | 'families'> {
  const counts = { all: families.length, errors: 0, slow: 0, findings: 0, '4xx': 0, api: 0, client: 0 }
  const selected = families.flatMap((family): ListedFamily | [] => {
    let found = family.matches
    let isSelected = true
    for (const mark of marks) {
      const isOfMain = hasMark(mark, family.main, context)
      const isMarked = isOfMain || family.members.some(member => hasMark(mark, member, context))
      if (isMarked) counts[mark]++
      if (!wanted.marks.includes(mark)) continue
      isSelected &&= isMarked
      if (!isOfMain) found = new Set([...found, ...family.members.filter(member => hasMark(mark, member, context))])
    }
    return isSelected ? { ...family, matches: found } : []
  })
  return { counts, families: wanted.marks.length === 0 ? families : selected }
}

/** The first families in the requested order. */
function sortFamilies(
  families: readonly ListedFamily[],
  sort: ProfileQuery['sort'],
  count: number,
): readonly ListedFamily[] {
  return sort === undefined ? families.slice(0, count) : selectSorted(families, ({ main }) => main, count, sort)
}
