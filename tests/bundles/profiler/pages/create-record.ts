import { type Profile, type ProfileSummary, schemaVersion } from '../../../../bundles/profiler/profile.ts'
import type { ProfileRecord } from '../../../../bundles/profiler/store/profile-storage.ts'

/** What of a record is not as usual. */
export interface RecordInit extends Partial<ProfileSummary> {
  readonly children?: readonly string[]
  readonly data?: Record<string, unknown>
  readonly failures?: Record<string, string>
}

/** Makes the record of a GET that was answered on the 20th of November 2026. */
export function createRecord({ children = [], data = {}, failures = {}, ...changes }: RecordInit = {}): ProfileRecord {
  const summary: ProfileSummary = {
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
    contentType: 'text/html; charset=UTF-8',
    time: Date.parse('2026-11-20T23:15:09.042Z'),
    duration: 1.5,
    memory: 14_000_000,
    exception: null,
    errors: 0,
    warnings: 0,
    calls: 0,
    subRequests: 0,
    ...changes,
  }
  const profile: Profile = { schemaVersion, summary, children, data, failures }
  return { summary, text: JSON.stringify(profile) }
}
