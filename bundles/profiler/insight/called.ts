import { parseTraceParent } from '../../../kernel/contracts/trace-context.ts'
import { readHeader, toTarget } from '../profile/format.ts'
import { groupBy } from '../profile/group-by.ts'
import { isToken } from '../profile/json.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { type CalledRequest, readCalled, type WithCalled } from '../profile/work.ts'
import { type ProfileStorage, readLimit } from '../store/profile-storage.ts'
import { readCalls, type StoredCall } from '../subjects/http/read.ts'
import { isError } from './summary-view.ts'

/** Milliseconds by which the clocks of two processes of one machine may differ. */
const margin = 2000

/** The most profiles that are read for one: also the end of a chain of calls. */
const readCount = 30

/**
 * Finds the requests that a profile has made, and that these have made: those whose tokens their
 * responses name. Any server may send any token: the method, the path and the time must be those
 * of the call. A call without a token has made the only request with its `traceparent` (W3C Trace
 * Context), if it has sent one. The longest chain of calls is read first, then errors.
 */
export async function findCalled(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  profile: Profile,
  most: number = readCount,
): Promise<readonly CalledRequest[]> {
  const known = new Set([profile.summary.token])
  let left = most
  const read = async ({ index, summary }: MatchedCall): Promise<CalledRequest> => {
    const stored = left-- > 0 ? await storage.find(summary.token) : undefined
    return { index, summary, profile: stored?.profile, called: stored === undefined ? [] : await find(stored.profile) }
  }
  const find = async (caller: Profile): Promise<CalledRequest[]> => {
    // A profile that is damaged, or of a hostile program, may name those that have called it.
    const made = [...matchCalls(caller, summaries), ...(await matchTraced(storage, summaries, caller))]
    const matched = made.filter(({ summary }) => !known.has(summary.token))
    for (const { summary } of matched) known.add(summary.token)
    const found: CalledRequest[] = []
    for (const call of inReadingOrder(matched)) found.push(await read(call))
    return found.sort((one, other) => one.index - other.index)
  }
  return find(profile)
}

/** A call, and the summary of the request that it has made. */
type MatchedCall = Pick<CalledRequest, 'index' | 'summary'>

function matchCalls(caller: Profile, summaries: readonly ProfileSummary[]): MatchedCall[] {
  const all = listNamed(caller)
  if (all.length === 0) return []
  const named = groupBy(all, ({ token }) => token)
  const { duration, time } = caller.summary
  const until = time + Math.max(...all.map(({ call }) => call.end ?? duration)) + margin
  const matched: MatchedCall[] = []
  for (const summary of summaries) {
    // Most profiles are of another time.
    if (summary.time < time - margin || summary.time > until) continue
    const calls = named.get(summary.token) ?? named.get(toSent(summary.token))
    // A response from a cache names the request that was made for it.
    const made = calls?.find(({ call }) => isOf(summary, caller, call))
    if (made !== undefined) matched.push({ index: made.call.index, summary })
  }
  return matched
}

/** The most requests that are read to find the one with a trace context. */
const tracedLimit = 10

/**
 * Finds the requests of calls without a token, such as those that were aborted. The whole address must be that of
 * the call. Two calls or two requests with one trace context are not distinguished: a repeated call has the same one.
 */
async function matchTraced(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  caller: Profile,
): Promise<MatchedCall[]> {
  const found = [...groupBy(listTraced(caller), ({ key }) => key)].map(async ([key, [traced, ...repeated]]) => {
    const isNear = (summary: ProfileSummary) =>
      summary.parent === null &&
      summary.token !== caller.summary.token &&
      summary.url === traced.call.url &&
      isOf(summary, caller, traced.call)
    const near = repeated.length === 0 ? summaries.filter(isNear) : []
    if (near.length > tracedLimit) return []
    const read = await Promise.all(near.map(({ token }) => storage.find(token)))
    const isTraced = (_: ProfileSummary, index: number) => {
      const { collectors, summary } = read[index]?.profile ?? {}
      return summary !== undefined && keyOf(summary, collectors?.request) === key
    }
    const [summary, ...others] = near.filter(isTraced)
    return summary === undefined || others.length > 0 ? [] : { index: traced.call.index, summary }
  })
  return (await Promise.all(found)).flat()
}

/** The calls that have sent a trace context, and whose responses name no profile. */
function listTraced(profile: Profile): { readonly call: StoredCall; readonly key: string }[] {
  return readCalls(profile).calls.flatMap(call => {
    const key = tokenOf(call) !== undefined ? '' : keyOf(call, call.request)
    return key === '' ? [] : { call, key }
  })
}

/** The trace context of a request, with what else it has in common with its call; empty without one. */
function keyOf(
  { method, url }: Pick<ProfileSummary, 'method' | 'url'>,
  message: Parameters<typeof readHeader>[0],
): string {
  const [traceParent, ...more] = readHeader(message, 'traceparent')
  const isKnown = traceParent !== undefined && more.length === 0 && parseTraceParent(traceParent) !== undefined
  return isKnown ? `${method} ${url} ${traceParent}` : ''
}

function inReadingOrder(matched: readonly MatchedCall[]): MatchedCall[] {
  const [longest, ...others] = matched.toSorted((one, other) => other.summary.duration - one.summary.duration)
  const isFailed = ({ summary }: MatchedCall) => isError(summary)
  const rest = [...others.filter(isFailed), ...others.filter(call => !isFailed(call))]
  return longest === undefined ? [] : [longest, ...rest]
}

/** Reads the profiles of summaries, each once. One of them may have been deleted meanwhile. */
export async function readProfiles(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
): Promise<Profile[]> {
  const tokens = [...new Set(summaries.map(({ token }) => token))]
  const found = await Promise.all(tokens.map(token => storage.find(token)))
  return found.flatMap(stored => stored?.profile ?? [])
}

/** Completes profiles by the requests that they have made. At most `most` profiles of these are read for each. */
export async function addCalled<Profiles extends readonly Profile[] | readonly [Profile, ...Profile[]]>(
  profiles: Profiles,
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  most?: number,
): Promise<Profiles> {
  const isTraced = (profile: Profile) => listTraced(profile).length > 0
  if (profiles.every(profile => listNamed(profile).length === 0 && !isTraced(profile))) return profiles
  const { summaries } = await storage.search({ limit: readLimit })
  const nearOf = (profile: Profile) => (most === 0 && !isTraced(profile) ? listMade(profile, summaries) : summaries)
  const added = profiles.map(async profile =>
    withCalled(profile, await findCalled(storage, nearOf(profile), profile, most)),
  )
  // Each profile is replaced by itself with more work.
  return (await Promise.all(added)) as unknown as Profiles
}

/**
 * The profiles with the tokens that responses have named. Lists search in the same summaries for each of their rows.
 */
function listMade(profile: Profile, summaries: readonly ProfileSummary[]): readonly ProfileSummary[] {
  const bySent = indexes.get(summaries) ?? groupBy(summaries, ({ token }) => toSent(token))
  indexes.set(summaries, bySent)
  const sent = new Set(listNamed(profile).map(({ token }) => toSent(token)))
  return [...sent].flatMap(token => bySent.get(token) ?? [])
}

const indexes = new WeakMap<readonly ProfileSummary[], ReadonlyMap<string, readonly ProfileSummary[]>>()

/** Milliseconds until other programs have stored their profiles. */
const storeTime = 5000

/** Whether a profile has just ended, and others that it has called are not stored yet. */
export function isAwaitingCalled(profile: Profile, now: number): boolean {
  const { duration, time } = profile.summary
  return now < time + duration + storeTime && listNamed(profile).length > readCalled(profile).length
}

/** Completes a profile by the requests that it has made. */
export function withCalled(profile: Profile, called: readonly CalledRequest[]): WithCalled {
  if (called.length === 0) return profile
  return {
    ...profile,
    get processData() {
      return profile.processData
    },
    called,
  }
}

/** The most requests that are read as possible callers. */
const callerLimit = 10

/** Finds the request whose HTTP client call has made the request of a profile; `undefined` if none is stored. */
export async function findCaller(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  { collectors, summary }: Profile,
): Promise<ProfileSummary | undefined> {
  const { method, parent, time, token } = summary
  const isTraced = keyOf(summary, collectors.request) !== ''
  if (parent !== null || method === '') return undefined
  const isNear = (other: ProfileSummary) =>
    other.calls > 0 &&
    other.token !== token &&
    other.time <= time + margin &&
    time <= other.time + other.duration + margin
  for (const { token: near } of summaries.filter(isNear).slice(0, callerLimit)) {
    const { profile } = (await storage.find(near)) ?? {}
    if (profile === undefined) continue
    const named = listNamed(profile).find(other => other.token === token || other.token === toSent(token))
    if (named !== undefined && isOf(summary, profile, named.call)) return profile.summary
    const traced = isTraced ? await matchTraced(storage, summaries, profile) : []
    if (traced.some(({ summary }) => summary.token === token)) return profile.summary
  }
  return undefined
}

/** The token that a response has: in a list of programs, it may stand behind the id of its program. */
function toSent(token: string): string {
  return token.slice(-6)
}

/** The calls whose responses name a profile. */
function listNamed(profile: Profile): { readonly call: StoredCall; readonly token: string }[] {
  return readCalls(profile).calls.flatMap(call => {
    const token = tokenOf(call)
    return isToken(token) && token !== profile.summary.token ? { call, token } : []
  })
}

function tokenOf({ response }: StoredCall): unknown {
  return response?.headers.find(([name]) => name.toLowerCase() === 'x-debug-token')?.[1]
}

/** Whether a request is that of a call. */
function isOf(other: ProfileSummary, { summary }: Profile, { end, method, start, url }: StoredCall): boolean {
  const from = summary.time + start
  const until = summary.time + (end ?? summary.duration)
  return (
    other.method === method &&
    toTarget(other.url) === toTarget(url) &&
    other.time >= from - margin &&
    other.time <= until + margin
  )
}
