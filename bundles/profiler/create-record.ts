import { getHeapStatistics } from 'node:v8'
import { flattenError } from '../../lib/errors/flatten.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { CollectedData } from './collect-data.ts'
import type { Pass } from './pass.ts'
import { type Profile, type ProfileSummary, schemaVersion } from './profile.ts'
import { roundTime } from './round-time.ts'
import type { ProfileRecord } from './store/profile-storage.ts'

/** Makes the record of a pass; nothing unmasked is in it. */
export function createRecord(pass: Pass, { data, failures }: CollectedData, redactor: Redactor): ProfileRecord {
  const summary = summarize(pass, redactor)
  const children = pass.children.map(({ token }) => token)
  const profile: Profile = { schemaVersion, summary, children, data, failures }
  // Collectors have masked what they tell; this finds what they could not recognise: secrets of the environment.
  return { summary, text: redactor.knownSecrets(JSON.stringify(profile)) }
}

function summarize(pass: Pass, redactor: Redactor): ProfileSummary {
  const { controller, error, logs, request, response, thrown } = pass
  const route = request.attributes.get('_route')
  return {
    token: pass.token,
    parent: pass.parent?.token ?? null,
    type: 'request',
    outcome: pass.outcome,
    status: response?.status ?? 0,
    ip: request.clientIp,
    method: request.method,
    url: redactor.text(request.url),
    route: typeof route === 'string' ? route : null,
    controller: controller ?? null,
    contentType: response?.headers.get('content-type') ?? null,
    time: pass.time,
    duration: roundTime(pass.duration ?? pass.elapsed()),
    memory: getHeapStatistics().used_heap_size,
    exception: thrown.length === 0 ? null : redactor.text(flattenError(error, { hasFrames: false }).name),
    errors: logs.errors,
    warnings: logs.warnings,
    calls: pass.calls?.count ?? 0,
    subRequests: pass.children.length,
  }
}
