import { nameOfError } from '../../../lib/errors/flat-error.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { ProfileSummary } from '../profile.ts'
import type { Pass } from './pass.ts'
import { readProcessUsage, sharedLifetime } from './process-usage.ts'
import { roundTime } from './round-time.ts'

/** What the list shows of a pass, masked. */
export function summarize(pass: Pass, redactor: Redactor): ProfileSummary {
  const { controller, error, logs, request, response, thrown } = pass
  const route = request.attributes.get('_route')
  const contentType = response?.headers.get('content-type') ?? null
  return {
    token: pass.token,
    parent: pass.parent?.token ?? null,
    type: 'request',
    outcome: pass.outcome,
    status: response?.status ?? 0,
    ip: request.clientIp,
    method: request.method,
    url: redactor.text(request.url),
    route: typeof route === 'string' ? redactor.knownSecrets(route) : null,
    controller: controller === undefined ? null : redactor.knownSecrets(controller),
    contentType: contentType === null ? null : redactor.knownSecrets(contentType),
    time: pass.time,
    duration: roundTime(pass.sentAt ?? pass.duration ?? pass.elapsed()),
    memory: readProcessUsage(sharedLifetime).heap,
    exception: thrown.length === 0 ? null : redactor.text(nameOfError(error)),
    errors: logs.errors,
    warnings: logs.warnings,
    calls: pass.calls?.count ?? 0,
    subRequests: pass.children.length,
  }
}
