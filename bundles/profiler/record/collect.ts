import { createHash } from 'node:crypto'
import type { Collector } from '../../../kernel/contracts/collectors.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { isThenable } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { copyText, TextMemo } from '../../../lib/text/text-memo.ts'
import { roundTime } from '../profile/format.ts'
import { schemaVersion } from '../profile/json.ts'
import {
  type CollectorTypes,
  noCounts,
  type ProcessTypes,
  type Profile,
  type ProfileDocument,
  type ProfileSummary,
} from '../profile/profile.ts'
import type { SpanRow } from '../profile/span-rows.ts'
import type { Period } from '../profile/work.ts'
import type { ProfileStorage, SerializedProfile } from '../store/profile-storage.ts'
import { packData } from '../subjects/pack.ts'
import { middlewarePart, routePatternOf } from './middleware-trace.ts'
import { type CollectedData, type Trace, withDescendants } from './trace.ts'

/** An entry of the header `server-timing`: its name, a description, and milliseconds. */
export type Metric = readonly [name: string, description: string, duration: number]

/** A collector of the profiler: it reads a whole trace, masks what it returns, and may describe the process. */
export interface ProfileCollector extends Collector<Trace> {
  /** Returns the data that all requests of the process share; called once, when the first profile is written. */
  describeProcess?(): unknown
  /** Whether the collector runs again after late work, because its data includes late work. */
  readonly collectsLate?: true
  /** The fields of the summary that it knows; `data` is what it has collected. Late work counts them again. */
  summarize?(trace: Trace, data: unknown): Partial<ProfileSummary>
  /** The fields of the summary that depend on what all collectors have recorded until the profile is stored. */
  settle?(trace: Trace, data: Readonly<Record<string, unknown>>): Partial<ProfileSummary>
  /** Whether it has recorded work after a time, in milliseconds since the start of the request. */
  hasWorked?(trace: Trace, since: number): boolean
  /** The times of a main request, known so far, in which the event loop ran no callback. */
  findStops?(trace: Trace): readonly Period[]
  /**
   * The times of a request and its sub-requests for the header `server-timing`, without the stops of the event loop.
   */
  measure?(traces: readonly Trace[], stopsOf: (trace: Trace) => readonly Period[]): readonly Metric[]
}

/** A collector with a fixed name: its data has the type of the part of the profile with this name. */
export interface CollectorOf<Name extends keyof CollectorTypes | keyof ProcessTypes> extends ProfileCollector {
  readonly name: Name
  collect(trace: Trace): CollectorTypes[Name & keyof CollectorTypes] | undefined
  summarize?(trace: Trace, data: CollectorTypes[Name & keyof CollectorTypes] | undefined): Partial<ProfileSummary>
  describeProcess?(): ProcessTypes[Name & keyof ProcessTypes]
}

/** Runs each collector on a trace. Never throws: a collector that fails loses its own data only. */
export function collectData(trace: Trace, collectors: readonly ProfileCollector[], redactor: Redactor): CollectedData {
  return runCollectors(trace, collectors, summarize(trace, redactor))
}

/**
 * Runs the collectors of late work once more on a trace that has ended. The data of the other collectors does not
 * change. The collectors of late work are synchronous.
 */
export function collectLate(trace: Trace, collectors: readonly ProfileCollector[]): void {
  const { collected } = trace
  if (collected === undefined) return
  const late = collectors.filter(({ collectsLate }) => collectsLate)
  const { data, failures, summary } = runCollectors(trace, late, { ...collected.summary })
  // What is stored has it, until it is overwritten.
  for (const { name } of late) if (name in collected.data && !(name in failures)) collected.data[name] = undefined
  Object.assign(collected.data, data)
  Object.assign(collected.failures, failures)
  trace.collected = { ...collected, summary }
  settleSummary(trace, late)
}

/** Completes the summary of a trace before its profile is stored. */
export function settleSummary(trace: Trace, collectors: readonly ProfileCollector[]): void {
  const { collected } = trace
  if (collected === undefined) return
  for (const collector of collectors)
    if (collector.settle !== undefined) Object.assign(collected.summary, collector.settle(trace, collected.data))
}

/** Adds the fields that the collectors know to the summary: a second object for them would cost a microsecond. */
function runCollectors(trace: Trace, collectors: readonly ProfileCollector[], summary: ProfileSummary): CollectedData {
  const data: Record<string, unknown> = {}
  const failures: Record<string, string> = {}
  let pending: Promise<void>[] | undefined
  for (const collector of collectors) {
    const { name } = collector
    try {
      const value = collector.collect(trace)
      if (isThenable(value)) {
        pending ??= []
        pending.push(addLater(name, value, data, failures))
      } else if (value !== undefined) data[name] = value
    } catch (error) {
      failures[name] = describeFailure(error)
    }
    if (collector.summarize !== undefined) Object.assign(summary, collector.summarize(trace, data[name]))
  }
  return { data, failures, summary, pending: pending && Promise.all(pending) }
}

async function addLater(
  name: string,
  promise: PromiseLike<unknown>,
  data: Record<string, unknown>,
  failures: Record<string, string>,
): Promise<void> {
  try {
    const value = await promise
    if (value !== undefined) data[name] = value
  } catch (error) {
    failures[name] = describeFailure(error)
  }
}

function describeFailure(error: unknown): string {
  return flattenError(error, { hasFrames: false }).message
}

/** Where profiles are recorded. */
export type ProfileOrigin = Pick<ProfileSummary, 'folder' | 'machine' | 'program'>

/** Where this process records profiles. */
export type OwnOrigin = ProfileOrigin & { readonly program: string }

const noOrigin: ProfileOrigin = { machine: null, program: null }

/** Makes the masked summary of a trace, without the fields that collectors count. */
export function summarize(trace: Trace, redactor: Redactor): ProfileSummary {
  const { controller, request, response, type } = trace
  const isRequest = type === 'request'
  const contentType = response?.headers.get('content-type') ?? null
  const destination = request.headers.get('sec-fetch-dest')
  return {
    token: trace.token,
    parent: trace.parent?.token ?? null,
    type,
    outcome: trace.outcome,
    status: response?.status ?? 0,
    // A server that listens on `::` sees the addresses of IPv4 within those of IPv6.
    ip: isRequest ? request.clientIp.replace(/^::ffff:(?=\d+\.)/, '') : '',
    method: isRequest ? request.method : '',
    url: isRequest ? redactor.text(request.url) : '',
    route: kept(routeNameOf(trace, redactor)),
    operation: null,
    controller: controller === undefined ? null : redactor.knownSecrets(controller),
    contentType: kept(contentType && redactor.knownSecrets(contentType)),
    size: null,
    client: isRequest ? clientOf(trace.main.request) : null,
    ...noOrigin,
    // Any client may send any text.
    destination: destination !== null && /^[a-z]{1,20}$/.test(destination) ? destination : null,
    time: trace.time,
    duration: roundTime(trace.sentAt ?? trace.duration ?? trace.elapsed()),
    isCold: trace.isCold,
    memory: 0,
    exception: null,
    fingerprint: null,
    queryTime: 0,
    ...noCounts,
    subRequests: trace.children.length,
  }
}

/** The masked name of the route of a request, in a mounted handler that of its framework; `null` without a route. */
export function routeNameOf(trace: Trace, redactor: Redactor): string | null {
  const { attributes, method, path } = trace.request
  const { route: inner } = middlewarePart.find(trace) ?? {}
  const route = inner === undefined ? attributes.get('_route') : `${method} ${routePatternOf(inner, path, redactor)}`
  return typeof route === 'string' ? redactor.knownSecrets(route) : null
}

/**
 * Texts that many summaries have. A summary stays in memory as long as its profile is stored, and
 * a text that is a part of another one, such as that of a head, keeps all of it.
 */
const repeated = new TextMemo<string>(500, 500)

function kept(text: string | null): string | null {
  return text === null ? null : repeated.of(text, copyText)
}

/** Clients send many requests, and a hash costs as much as the rest of a summary. */
const clients = new TextMemo<string>(100, 500)

/** The fingerprint of a client, for the requests of one browser: a hash of its IP and user agent. */
export function clientOf({ clientIp, headers }: Request): string {
  const userAgent = headers.get('user-agent')
  // Neither of them has a line break.
  const client = userAgent === null ? clientIp : `${clientIp}\n${userAgent}`
  return clients.of(client, () => hash(JSON.stringify([clientIp, userAgent])))
}

/** The first eight hexadecimal digits of a hash. */
export function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/**
 * Makes the summary and the text of a profile for the store. All of it is masked. Parts of the stored version that no
 * collector has made stay: a page may report errors at any time.
 */
export function serializeProfile(
  trace: Trace,
  { data, failures, summary }: CollectedData,
  redactor: Redactor,
  origin: ProfileOrigin,
  stored?: Profile,
): SerializedProfile {
  const children = trace.children.map(({ token }) => token)
  const { browserErrors } = stored?.summary ?? summary
  const profile: ProfileDocument = {
    schemaVersion,
    summary: { ...summary, ...origin, outcome: trace.outcome, subRequests: children.length, browserErrors },
    children,
    data: stored === undefined ? data : { ...stored.data, ...data },
    failures,
  }
  return serialize(profile, redactor)
}

/** The services of {@link amendProfile}. */
export interface AmendServices {
  readonly storage: Pick<ProfileStorage, 'amend'>
  readonly redactor: Redactor
}

/** The masked parts of a profile that change: its summary, and parts of its data. */
type ProfileAmendment = Partial<Pick<ProfileDocument, 'summary' | 'data'>>

/** Changes parts of a stored profile; nothing if `change` returns `undefined`. False when the profile is not known. */
export function amendProfile(
  { redactor, storage }: AmendServices,
  token: string,
  change: (profile: Profile) => ProfileAmendment | undefined,
): Promise<boolean> {
  return storage.amend(token, stored => {
    const amendment = change(stored)
    if (amendment === undefined) return undefined
    const { children, data, failures } = stored
    const { summary = stored.summary } = amendment
    return serialize({ schemaVersion, summary, children, data: { ...data, ...amendment.data }, failures }, redactor)
  })
}

function serialize(profile: ProfileDocument, redactor: Redactor): SerializedProfile {
  const packed = { ...profile, data: packData(profile.data) }
  // Collectors mask what they recognise. This masks the secrets of the environment wherever they occur.
  return { summary: profile.summary, text: redactor.knownSecrets(JSON.stringify(packed)) }
}

/**
 * Writes the Server-Timing header (W3C Server Timing): where the time of a request went, in milliseconds, as
 * far as it is known when the response is built. The time of the controller includes its templates, queries and
 * HTTP client calls. `profile` is the token: scripts of the same origin can read it without a patch of `fetch`.
 */
export function toServerTiming(trace: Trace, collectors: readonly ProfileCollector[]): string {
  const total = trace.elapsed()
  const controller = findControllerTime(trace.events.rows)
  const { method } = trace.request
  let metrics = `profile;desc="${trace.token}", ${toMetric('total', 'Total', total)}`
  // The browser does not report the method of a request to scripts: the toolbar lists it. GET is usual.
  if (method !== 'GET' && /^[A-Z]{1,20}$/.test(method)) metrics += `, method;desc="${method}"`
  if (controller > 0) {
    metrics += `, ${toMetric('kernel', 'Kernel and listeners', Math.max(0, total - controller))}`
    metrics += `, ${toMetric('ctrl', 'Controller', controller)}`
  }
  const traces = withDescendants(trace)
  const { main } = trace
  let stops: readonly Period[] | undefined
  // Most requests have nothing to measure.
  const stopsOf = ({ start }: Trace) => {
    stops ??= collectors.flatMap(collector => collector.findStops?.(main) ?? [])
    return start === main.start ? stops : stops.map(stop => ({ ...stop, start: stop.start + main.start - start }))
  }
  for (const collector of collectors) {
    if (collector.measure === undefined) continue
    for (const metric of collector.measure(traces, stopsOf)) metrics += `, ${toMetric(...metric)}`
  }
  return metrics
}

function toMetric(...[name, description, duration]: Metric): string {
  return `${name};desc="${description}";dur=${roundTime(duration)}`
}

const afterController: readonly string[] = ['kernel.view', 'kernel.response', 'kernel.exception']

/** The milliseconds from the end of the last event before the controller to the next event; 0 without a controller. */
function findControllerTime(rows: readonly SpanRow[]): number {
  let start: number | undefined
  for (const [mark, name, at, duration] of rows) {
    if (mark !== null) continue
    if (name === 'kernel.controller_arguments' && duration !== null) start = at + duration
    else if (start !== undefined && afterController.includes(name)) return (at - start) / 1000
  }
  return 0
}
