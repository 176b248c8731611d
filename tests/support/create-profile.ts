import type { ProfileStorage } from 'sinfonietta/profiler'
import type { PanelProfile } from '#bundles/profiler/panels/subject-view.ts'
import { schemaVersion } from '#bundles/profiler/profile/json.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { type CollectorTypes, noCounts, type Profile, type ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'

/** What a storage is given, finds, and searches for. */
export type SerializedProfile = Parameters<ProfileStorage['append']>[0]
export type StoredProfile = NonNullable<Awaited<ReturnType<ProfileStorage['find']>>>
export type ProfileQuery = Parameters<ProfileStorage['search']>[0]

/** What of a profile, beside its data, is not as usual. */
export interface ProfileInit extends Partial<ProfileSummary> {
  readonly children?: readonly string[]
  readonly failures?: Readonly<Record<string, string>>
  /** What was recorded of the process. */
  readonly processData?: Profile['processData']
}

/** Makes the summary of a GET that was answered on the 20th of November 2026, with the given fields. */
export function createSummary(fields: Partial<ProfileSummary> = {}): ProfileSummary {
  return {
    token: 'abc123',
    parent: null,
    type: 'request',
    outcome: 'complete',
    status: 200,
    ip: '127.0.0.1',
    method: 'GET',
    url: 'http://localhost:8000/somewhere?q=1',
    route: 'somewhere',
    controller: 'SomeController',
    operation: null,
    contentType: 'text/html; charset=UTF-8',
    size: 1200,
    client: 'c11e0710',
    destination: null,
    machine: null,
    program: 'sinfonietta',
    time: Date.parse('2026-11-20T23:15:09.042Z'),
    duration: 5,
    isCold: false,
    memory: 12 * 1024 * 1024,
    exception: null,
    fingerprint: null,
    queryTime: 0,
    ...noCounts,
    ...fields,
  }
}

/** Makes a profile with such a summary, and with data of whatever shape. */
export function createProfile(data: Profile['data'], init: ProfileInit = {}): Profile {
  const { children = [], failures = {}, processData = {}, ...changes } = init
  return toProfile({ schemaVersion, summary: createSummary(changes), children, data, failures }, processData)
}

/** What of a record is not as usual. */
export interface RecordInit extends ProfileInit {
  readonly data?: Profile['data']
}

/** Makes the record of such a profile. */
export function createRecord({ data = {}, ...init }: RecordInit = {}): SerializedProfile {
  const { collectors, process, processData, ...document } = createProfile(data, init)
  return { summary: document.summary, text: JSON.stringify(document) }
}

/** Stores such profiles, with no facts of their process. */
export function keep(storage: Pick<ProfileStorage, 'append'>, ...profiles: readonly RecordInit[]): void {
  for (const profile of profiles) storage.append(createRecord(profile), '{}')
}

/** A storage in memory that has such profiles. */
export function createStorage(...profiles: readonly RecordInit[]): MemoryProfileStorage {
  const storage = new MemoryProfileStorage()
  keep(storage, ...profiles)
  return storage
}

/** Stored profiles with consecutive tokens from a number. */
export function createRecords(count: number, first = 0): SerializedProfile[] {
  const data = { probe: { text: 'ä€😀' } }
  return Array.from({ length: count }, (_, index) => createRecord({ token: tokenOf(first + index), data }))
}

/** The default facts of tests. */
export const facts = '{"environment":{"node":"20"}}'

/** The token with this number. */
export function tokenOf(number: number): string {
  return number.toString(16).padStart(6, '0')
}

/** The tokens of summaries. */
export function tokensOf({ summaries }: { readonly summaries: readonly ProfileSummary[] }): string[] {
  return summaries.map(({ token }) => token)
}

/** Makes what a panel is given of such a profile. */
export function createShown(data: Profile['data'], more: Partial<PanelProfile> = {}): PanelProfile {
  return {
    profile: createProfile(data),
    isPinned: false,
    findings: [],
    parent: undefined,
    children: [],
    earlier: [],
    query: new URLSearchParams(),
    findChildren: finds([]),
    findLinked: () => ({ attempts: [], caused: [], causes: [] }),
    findOccurrences: () => undefined,
    findPrevious: finds(undefined),
    ...more,
  }
}

function finds<result>(result: result): () => Promise<result> {
  return async () => result
}

/** A stored query. */
export type QueryData = CollectorTypes['queries']['queries'][number]

/** Makes a stored query of PostgreSQL that took a millisecond; `changes` are its other fields. */
export function createQuery(changes: Partial<QueryData> = {}): QueryData {
  const { start = 1 } = changes
  return {
    system: 'postgresql',
    namespace: 'shop',
    server: 'localhost:5432',
    text: 'SELECT * FROM products WHERE id = ?',
    parameters: [['id', 7]],
    start,
    end: start + 1,
    rows: 1,
    caller: { function: 'findProduct', file: 'bundles/shop/products.ts', line: 12, column: 5 },
    source: 'channel',
    ...changes,
  }
}
