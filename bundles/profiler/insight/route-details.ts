import { groupBy } from '../profile/group-by.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { workTime } from '../profile/work.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { readQueries, shapeOf } from '../subjects/queries/read.ts'
import type { Inspector } from './findings/inspector.ts'
import { mainRequests } from './latest.ts'
import { gatherStatistics, isError, type RouteStatistics } from './route-statistics.ts'
import { readProcessStart } from './since-edit.ts'

/** The requests of one route. Times are in milliseconds. */
export interface RouteDetails {
  readonly statistics: RouteStatistics
  /** The latest requests, the newest first. */
  readonly summaries: readonly ProfileSummary[]
  /** The number of stored requests; the other values are those of the latest 5,000. */
  readonly stored: number
  /** The starts of processes between the first and the last request, in milliseconds since 1970. */
  readonly restarts: readonly number[]
  /** How many of the latest profiles were read for findings and queries. */
  readonly read: number
  /** The findings of these profiles, the most frequent first. */
  readonly findings: readonly FindingCount[]
  readonly errors: readonly ErrorCount[]
  /** The statistics of each machine, by name; empty with one machine. */
  readonly machines: readonly MachineStatistics[]
  /** The statements of these profiles, those with the most time first. */
  readonly queries: readonly UsualQuery[]
}

/** A rule with findings. */
interface FindingCount {
  readonly rule: string
  readonly title: string
  /** The number of profiles with such a finding. */
  readonly count: number
  /** The latest of them. */
  readonly token: string
}

/** An error that requests have in common. */
interface ErrorCount {
  readonly fingerprint: string
  readonly name: string
  readonly count: number
  readonly latest: ProfileSummary
}

/** The requests that a machine has answered. */
export interface MachineStatistics {
  readonly machine: string
  readonly statistics: RouteStatistics
}

/** A statement of the route. */
interface UsualQuery {
  readonly text: string
  readonly system: string
  /** In a request with the statement, on average. */
  readonly perRequest: number
  /** Milliseconds in a request with the statement, on average. */
  readonly time: number
  /** The latest profile with it, and the query there. */
  readonly token: string
  readonly index: number
}

/** These bounds keep the page of a route fast, whatever the store contains. */
const summaryLimit = 5000
const profileLimit = 30
const listLimit = 5

/** Reads the details of a route; `undefined` if no request of it is stored. */
export async function gatherRoute(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  inspector: Inspector,
  route: string,
): Promise<RouteDetails | undefined> {
  const filters = [{ field: 'route', test: 'among', value: new Set([route]) } as const, mainRequests]
  const { summaries: found, total } = await storage.search({ filters, limit: summaryLimit })
  const summaries = found.toSorted((one, other) => other.time - one.time)
  const [statistics] = gatherStatistics(summaries)
  if (statistics === undefined) return undefined
  const read = await readProfiles(storage, summaries.slice(0, profileLimit))
  // A profile of each part of the time, so that older restarts are found, too.
  const spread = Array.from({ length: profileLimit }, (_, part) =>
    summaries.at(Math.floor((part * summaries.length) / profileLimit)),
  ).filter(summary => summary !== undefined)
  const starts = (await readProfiles(storage, spread)).map(profile => readProcessStart(profile) ?? 0)
  const first = summaries.at(-1)?.time ?? 0
  return {
    statistics,
    summaries,
    stored: total,
    restarts: [...new Set(starts)].filter(time => time > first).sort((one, other) => one - other),
    read: read.length,
    findings: countFindings(read, inspector),
    errors: countErrors(summaries.filter(summary => summary.fingerprint !== null || isError(summary))),
    machines: gatherMachines(summaries),
    queries: gatherQueries(read),
  }
}

function gatherMachines(summaries: readonly ProfileSummary[]): MachineStatistics[] {
  const groups = groupBy(summaries, ({ machine }) => machine ?? 'unknown')
  if (groups.size < 2) return []
  const all = [...groups].flatMap(([machine, group]) =>
    gatherStatistics(group).map(statistics => ({ machine, statistics })),
  )
  return all.sort((one, other) => one.machine.localeCompare(other.machine, 'en'))
}

async function readProfiles(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
): Promise<Profile[]> {
  const tokens = [...new Set(summaries.map(({ token }) => token))]
  const found = await Promise.all(tokens.map(token => storage.find(token)))
  // A profile may have been deleted meanwhile.
  return found.flatMap(stored => stored?.profile ?? [])
}

function countFindings(profiles: readonly Profile[], inspector: Inspector): FindingCount[] {
  const counts = new Map<string, FindingCount>()
  for (const profile of profiles) {
    const titles = new Map(inspector.inspect(profile).map(({ rule, title }) => [rule, title]))
    for (const [rule, title] of titles) {
      const { count = 0, token = profile.summary.token } = counts.get(rule) ?? {}
      counts.set(rule, { rule, title, count: count + 1, token })
    }
  }
  return [...counts.values()].sort((one, other) => other.count - one.count)
}

function countErrors(failed: readonly ProfileSummary[]): ErrorCount[] {
  const counts = new Map<string, ErrorCount>()
  for (const summary of failed) {
    const { exception, fingerprint, outcome, status } = summary
    const name = exception ?? (outcome === 'complete' ? String(status) : outcome.replace('-', ' '))
    const key = fingerprint ?? name
    const { count = 0, latest = summary } = counts.get(key) ?? {}
    counts.set(key, { fingerprint: fingerprint ?? '', name, count: count + 1, latest })
  }
  return [...counts.values()].sort((one, other) => other.count - one.count).slice(0, listLimit)
}

function gatherQueries(profiles: readonly Profile[]): UsualQuery[] {
  const shapes = new Map<string, { first: UsualQuery; count: number; time: number; tokens: Set<string> }>()
  for (const profile of profiles) {
    const { token } = profile.summary
    for (const query of readQueries(profile).database.queries) {
      const { index, system, text } = query
      const key = shapeOf(query)
      const first = { text, system, perRequest: 0, time: 0, token, index }
      const shape = shapes.get(key) ?? { first, count: 0, time: 0, tokens: new Set() }
      shapes.set(key, shape)
      shape.count++
      shape.time += workTime(query)
      shape.tokens.add(token)
    }
  }
  return [...shapes.values()]
    .sort((one, other) => other.time - one.time)
    .slice(0, listLimit)
    .map(({ count, first, time, tokens }) => ({ ...first, perRequest: count / tokens.size, time: time / tokens.size }))
}
