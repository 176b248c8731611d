import { toTarget } from '../profile/format.ts'
import { isToken } from '../profile/json.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { sumWithin, type WithCalled, workFields } from '../profile/work.ts'
import { type ProfileStorage, readLimit } from '../store/profile-storage.ts'
import { readCalls, type StoredCall } from '../subjects/http/read.ts'

/** The profile of a request that an HTTP client call has made, of this program or another one. */
export interface CalledProfile {
  /** The index of the call in the profile of its caller. */
  readonly index: number
  readonly profile: Profile
  /** The requests that it has made itself. */
  readonly called: readonly CalledProfile[]
}

/** Milliseconds by which the clocks of two processes of one machine may differ. */
const margin = 2000

/** The most profiles that are read for one, and the longest chain of calls. */
const limits = { profiles: 30, depth: 5 } as const

/**
 * Finds the profiles of the requests that a profile has made, and that these have made: those whose tokens their responses name. Any
 * server may send any token: the method, the path and the time must be those of the call.
 */
export async function findCalled(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  profile: Profile,
): Promise<readonly CalledProfile[]> {
  let left: number = limits.profiles
  const find = async (caller: Profile, depth: number): Promise<CalledProfile[]> => {
    const wanted = new Map(listNamed(caller).map(({ call, token }) => [token, call]))
    if (wanted.size === 0 || depth === limits.depth) return []
    const callOf = ({ token }: ProfileSummary) => wanted.get(token) ?? wanted.get(toSent(token))
    const isCalled = (other: ProfileSummary) => {
      const call = callOf(other)
      return call !== undefined && isOf(other, caller, call)
    }
    const found: CalledProfile[] = []
    for (const summary of summaries.filter(isCalled)) {
      if (left-- <= 0) break
      const stored = await storage.find(summary.token)
      const index = callOf(summary)?.index ?? 0
      if (stored !== undefined)
        found.push({ index, profile: stored.profile, called: await find(stored.profile, depth + 1) })
    }
    return found.sort((one, other) => one.index - other.index)
  }
  return find(profile, 0)
}

/** Adds what the requests that profiles have made did for them, so that work which another request does now is not gone. */
export async function addCalledWork<Profiles extends readonly [Profile, ...Profile[]]>(
  profiles: Profiles,
  storage: Pick<ProfileStorage, 'find' | 'search'>,
): Promise<Profiles> {
  if (profiles.every(profile => listNamed(profile).length === 0)) return profiles
  const { summaries } = await storage.search({ limit: readLimit })
  const added = profiles.map(async profile => {
    const called = await findCalled(storage, summaries, profile)
    return called.length === 0 ? profile : withCalled(profile, called)
  })
  // Each profile is replaced by itself with more work.
  return (await Promise.all(added)) as unknown as Profiles
}

function withCalled(profile: Profile, called: readonly CalledProfile[]): WithCalled {
  const all = called.map(each => withCalled(each.profile, each.called))
  const sums = workFields.map(field => [field, all.reduce((sum, each) => sum + sumWithin(each, field), 0)])
  return { ...profile, processData: profile.processData, calledWork: Object.fromEntries(sums) }
}

/** The most requests that are read as possible callers. */
const callerLimit = 10

/** Finds the request whose HTTP client call has made the request of a profile; `undefined` if none is stored. */
export async function findCaller(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  { summary }: Profile,
): Promise<ProfileSummary | undefined> {
  const { method, parent, time, token } = summary
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
    const [, token] = call.response?.headers.find(([name]) => name.toLowerCase() === 'x-debug-token') ?? []
    return isToken(token) && token !== profile.summary.token ? { call, token } : []
  })
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
