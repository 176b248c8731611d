import type { Collector } from '../../../kernel/profiler-contract.ts'
import { flattenError, nameOfError } from '../../../lib/errors/flat-error.ts'
import { isThenable } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { ExceptionData } from '../profile/code-data.ts'
import type { ResponseData } from '../profile/exchange-data.ts'
import { roundTime } from '../profile/format.ts'
import type { CollectorTypes, ProcessTypes, ProfileSummary } from '../profile/profile.ts'
import { clientOf, fingerprintOf } from './fingerprint.ts'
import type { CollectedData, Trace } from './trace.ts'
import { readProcessUsage, sharedLifetime } from './usage-trace.ts'

/** A collector of the profiler: it reads a whole trace, masks what it returns, and may describe the process. */
export interface ProfileCollector extends Collector<Trace> {
  /** Returns the data that all requests of the process share; called once, when the first profile is written. */
  describeProcess?(): unknown
  /** Whether the collector runs again after late work, because its data includes late work. */
  readonly collectsLate?: true
}

/** A collector with a fixed name: its data has the type of the part of the profile with this name. */
export interface CollectorOf<Name extends keyof CollectorTypes | keyof ProcessTypes> extends ProfileCollector {
  readonly name: Name
  collect(trace: Trace): CollectorTypes[Name & keyof CollectorTypes] | undefined
  describeProcess?(): ProcessTypes[Name & keyof ProcessTypes]
}

/** Runs each collector on a trace. Never throws: a collector that fails loses its own data only. */
export function collectData(trace: Trace, collectors: Iterable<Collector<Trace>>, redactor: Redactor): CollectedData {
  const data: Record<string, unknown> = {}
  const failures: Record<string, string> = {}
  const pending: Promise<void>[] = []
  const add = (name: string, value: unknown) => {
    if (value !== undefined) data[name] = value
  }
  const fail = (name: string, error: unknown) => {
    failures[name] = flattenError(error, { hasFrames: false }).message
  }
  for (const collector of collectors) {
    const { name } = collector
    try {
      const value = collector.collect(trace)
      if (!isThenable(value)) add(name, value)
      else
        pending.push(
          Promise.resolve(value)
            .then(value => add(name, value))
            .catch(error => fail(name, error)),
        )
    } catch (error) {
      fail(name, error)
    }
  }
  const summary = summarize(trace, redactor, data)
  return { summary, data, failures, pending: pending.length === 0 ? undefined : Promise.all(pending) }
}

/**
 * Runs the collectors of late work once more on a trace that has ended. The data of the other collectors does not
 * change. The collectors of late work are synchronous.
 */
export function collectLate(trace: Trace, collectors: readonly ProfileCollector[], redactor: Redactor): void {
  const { collected } = trace
  if (collected === undefined) return
  const late = collectors.filter(({ collectsLate }) => collectsLate)
  const { data, failures, summary } = collectData(trace, late, redactor)
  Object.assign(collected.data, data)
  Object.assign(collected.failures, failures)
  const { cacheCalls, calls, dumps, errors, queries, queryTime, warnings } = summary
  trace.collected = {
    ...collected,
    summary: { ...collected.summary, calls, queries, queryTime, cacheCalls, errors, warnings, dumps },
  }
}

/** Makes the masked summary of a trace, which lists show; `data` is that of its collectors. */
export function summarize(trace: Trace, redactor: Redactor, data: CollectedData['data'] = {}): ProfileSummary {
  const { controller, error, logs, queries, request, response, thrown } = trace
  const route = request.attributes.get('_route')
  const contentType = response?.headers.get('content-type') ?? null
  // The collectors of these names return these types.
  const exception = data.exception as ExceptionData | undefined
  const sent = data.response as ResponseData | undefined
  const destination = request.headers.get('sec-fetch-dest')
  const routeName = typeof route === 'string' ? redactor.knownSecrets(route) : null
  return {
    token: trace.token,
    parent: trace.parent?.token ?? null,
    type: 'request',
    outcome: trace.outcome,
    status: response?.status ?? 0,
    ip: request.clientIp,
    method: request.method,
    url: redactor.text(request.url),
    route: routeName,
    controller: controller === undefined ? null : redactor.knownSecrets(controller),
    contentType: contentType === null ? null : redactor.knownSecrets(contentType),
    size: sent?.sent ?? sent?.size ?? null,
    client: clientOf(trace.main.request),
    // Any client may send any text.
    machine: null,
    destination: destination !== null && /^[a-z]{1,20}$/.test(destination) ? destination : null,
    time: trace.time,
    duration: roundTime(trace.sentAt ?? trace.duration ?? trace.elapsed()),
    isCold: trace.isCold,
    memory: readProcessUsage(sharedLifetime).heap,
    exception: thrown.length === 0 ? null : redactor.text(nameOfError(error)),
    fingerprint: exception === undefined ? null : fingerprintOf(exception, routeName),
    errors: logs.errors,
    warnings: logs.warnings,
    calls: trace.calls?.count ?? 0,
    queries: queries?.databaseCount ?? 0,
    queryTime: queries?.time('database') ?? 0,
    cacheCalls: queries?.cacheCount ?? 0,
    subRequests: trace.children.length,
    dumps: trace.console?.count ?? 0,
    browserErrors: 0,
  }
}
