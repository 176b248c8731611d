import { type Profile, type ProfileSummary, schemaVersion } from '#bundles/profiler/profile/profile.ts'
import type { SerializedProfile } from '#bundles/profiler/store/profile-storage.ts'

/** The default facts of tests. */
export const facts = '{"environment":{"node":"20"}}'

/** A typical summary, with the given fields. */
export function createSummary(fields: Partial<ProfileSummary> = {}): ProfileSummary {
  return {
    token: '000000',
    parent: null,
    type: 'request',
    outcome: 'complete',
    status: 200,
    ip: '127.0.0.1',
    method: 'GET',
    url: 'http://localhost/',
    route: 'home',
    controller: 'Home::page',
    contentType: 'text/html; charset=UTF-8',
    size: 1200,
    client: 'c11e0710',
    destination: null,
    machine: null,
    time: 1_700_000_000_000,
    duration: 1.5,
    memory: 1_000_000,
    exception: null,
    fingerprint: null,
    errors: 0,
    warnings: 0,
    calls: 0,
    queries: 0,
    queryTime: 0,
    cacheCalls: 0,
    subRequests: 0,
    dumps: 0,
    browserErrors: 0,
    isCold: false,
    ...fields,
  }
}

/** A typical profile as it is stored, with the given fields of the summary and of the profile. */
export function createRecord(fields: Partial<ProfileSummary> = {}, rest: Partial<Profile> = {}): SerializedProfile {
  const summary = createSummary(fields)
  const profile = { schemaVersion, summary, children: [], data: { probe: { text: 'ä€😀' } }, failures: {}, ...rest }
  return { summary, text: JSON.stringify(profile) }
}

/** The token with this number. */
export function tokenOf(number: number): string {
  return number.toString(16).padStart(6, '0')
}

/** Stored profiles with consecutive tokens from a number. */
export function createRecords(count: number, first = 0): SerializedProfile[] {
  return Array.from({ length: count }, (_, index) => createRecord({ token: tokenOf(first + index) }))
}

/** The tokens of summaries. */
export function tokensOf({ summaries }: { readonly summaries: readonly ProfileSummary[] }): string[] {
  return summaries.map(({ token }) => token)
}
