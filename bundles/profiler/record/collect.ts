import type { Collector } from '../../../kernel/profiler-contract.ts'
import { flattenError, nameOfError } from '../../../lib/errors/flat-error.ts'
import { isThenable } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { roundTime } from '../profile/format.ts'
import { type ProfileDocument, type ProfileSummary, schemaVersion } from '../profile/profile.ts'
import type { ProfileRecord } from '../store/profile-storage.ts'
import type { CollectedData, Trace } from './trace.ts'
import { readProcessUsage, sharedLifetime } from './usage-trace.ts'

/** Asks each collector about a trace. Never throws: one that fails costs its own data only. */
export function collectData(trace: Trace, collectors: Iterable<Collector<Trace>>, redactor: Redactor): CollectedData {
  const data: Record<string, unknown> = {}
  const failures: Record<string, string> = {}
  const pending: Promise<void>[] = []
  const keep = (name: string, value: unknown) => {
    if (value !== undefined) data[name] = value
  }
  const fail = (name: string, error: unknown) => {
    failures[name] = flattenError(error, { hasFrames: false }).message
  }
  for (const collector of collectors) {
    const { name } = collector
    try {
      const told = collector.collect(trace)
      if (!isThenable(told)) keep(name, told)
      else
        pending.push(
          Promise.resolve(told)
            .then(value => keep(name, value))
            .catch(error => fail(name, error)),
        )
    } catch (error) {
      fail(name, error)
    }
  }
  const summary = summarize(trace, redactor)
  return { summary, data, failures, pending: pending.length === 0 ? undefined : Promise.all(pending) }
}

/**
 * Asks collectors that tell what comes after the response once more, of a trace that is over: all else stays as it was then,
 * when its response was still there. None of them tells something later than at once.
 */
export function collectLate(trace: Trace, collectors: readonly ProfileCollector[], redactor: Redactor): void {
  const { collected } = trace
  if (collected === undefined) return
  const late = collectors.filter(({ tellsLate }) => tellsLate)
  const { data, failures, summary } = collectData(trace, late, redactor)
  Object.assign(collected.data, data)
  Object.assign(collected.failures, failures)
  const { calls, errors, warnings } = summary
  trace.collected = { ...collected, summary: { ...collected.summary, calls, errors, warnings } }
}

/** A collector of the profiler's own: it sees the whole trace, masks what it tells, and may know facts of the process. */
export interface ProfileCollector extends Collector<Trace> {
  /** What is the same for all requests of the process; asked once, when the first profile is kept. */
  describeProcess?(): unknown
  /** Whether it also tells what comes after the response: then it is asked again, when there is any. */
  readonly tellsLate?: true
}

/** What the list shows of a trace, masked. */
export function summarize(trace: Trace, redactor: Redactor): ProfileSummary {
  const { controller, error, logs, request, response, thrown } = trace
  const route = request.attributes.get('_route')
  const contentType = response?.headers.get('content-type') ?? null
  return {
    token: trace.token,
    parent: trace.parent?.token ?? null,
    type: 'request',
    outcome: trace.outcome,
    status: response?.status ?? 0,
    ip: request.clientIp,
    method: request.method,
    url: redactor.text(request.url),
    route: typeof route === 'string' ? redactor.knownSecrets(route) : null,
    controller: controller === undefined ? null : redactor.knownSecrets(controller),
    contentType: contentType === null ? null : redactor.knownSecrets(contentType),
    time: trace.time,
    duration: roundTime(trace.sentAt ?? trace.duration ?? trace.elapsed()),
    memory: readProcessUsage(sharedLifetime).heap,
    exception: thrown.length === 0 ? null : redactor.text(nameOfError(error)),
    errors: logs.errors,
    warnings: logs.warnings,
    calls: trace.calls?.count ?? 0,
    subRequests: trace.children.length,
  }
}

/** Makes the record of what was collected of a trace; nothing unmasked is in it. */
export function createRecord(
  trace: Trace,
  { data, failures, summary }: CollectedData,
  redactor: Redactor,
): ProfileRecord {
  const children = trace.children.map(({ token }) => token)
  const profile: ProfileDocument = {
    schemaVersion,
    summary: { ...summary, outcome: trace.outcome, subRequests: children.length },
    children,
    data,
    failures,
  }
  // Collectors have masked what they tell; this finds what they could not recognise: secrets of the environment.
  return { summary: profile.summary, text: redactor.knownSecrets(JSON.stringify(profile)) }
}
