import { AsyncResource } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Attributes as SpanAttributes, Tracer, TracerProvider } from '@opentelemetry/api'
import type { ReadableSpan, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { version } from '../../lib/package.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { type ExportReports, routeReports } from './export-reports.ts'
import type { Packages } from './load-packages.ts'
import { maskSpan } from './masked-span.ts'
import { instrumentations, ownScope } from './registration.ts'
import { findEndpoint, type OpenTelemetrySettings } from './settings.ts'

/** The parts of a provider. */
export interface ProviderOptions {
  readonly packages: Packages
  readonly settings: OpenTelemetrySettings
  /** The directory of the application: its package.json has the name of the service. */
  readonly directory: string
  /** `dev`, `prod` or `test`. */
  readonly environment: string
  /** Processors that read spans in this process. With one of them all spans are recorded, also those that are not sent. */
  readonly processors: readonly SpanProcessor[]
  readonly redactor: Redactor
  readonly reports: ExportReports
}

/** A provider of tracers that is registered in this process. */
export interface StartedProvider {
  /** The tracer of the bundle's own spans. */
  readonly tracer: Tracer
  /** Sends the spans that have ended, for some milliseconds at most, and ends the provider. Never rejects. */
  stop(timeLimit: number): Promise<void>
}

/** Creates a provider, and registers it for instrumentations and for code that uses OpenTelemetry's API. */
export function startProvider(options: ProviderOptions): StartedProvider {
  const { packages, processors, reports, settings } = options
  const sampler = createSampler(settings, packages)
  const provider = new packages.BasicTracerProvider({
    resource: packages.defaultResource().merge(packages.resourceFromAttributes(describeService(options))),
    sampler: processors.length === 0 ? sampler : new RecordingSampler(sampler, packages),
    spanProcessors: [...createExporter(options), ...processors],
  })
  const unregister = register(packages, provider)
  const silence = routeReports(packages, reports)
  return {
    tracer: provider.getTracer(ownScope, version),
    async stop(timeLimit) {
      await withLimit(provider.shutdown(), timeLimit).catch(error => reports.fail(error))
      unregister()
      silence()
    },
  }
}

/** Whether this process has a context manager: it is the same for all applications of the process, and stays. */
let hasContextManager = false

/** Returns the function that removes the provider. If the process has one already, that stays in use for the API. */
function register(packages: Packages, provider: TracerProvider): () => void {
  const { AsyncLocalStorageContextManager, W3CTraceContextPropagator, context, propagation, trace } = packages
  if (!hasContextManager) {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    // Without baggage: its entries would go to every server that the application calls.
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    hasContextManager = true
  }
  const isGlobal = trace.setGlobalTracerProvider(provider)
  for (const instrumentation of instrumentations) instrumentation.setTracerProvider(provider)
  return () => {
    if (isGlobal) trace.disable()
  }
}

function createExporter({ packages, redactor, settings }: ProviderOptions): SpanProcessor[] {
  const url = findEndpoint(settings)
  if (url === undefined) return []
  const { OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_EXPORTER_OTLP_TIMEOUT: timeoutMillis } = settings
  const exporter = new packages.OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis })
  /** Exports outside of the request whose span has ended: otherwise the export would be an HTTP client call of it. */
  class ExportProcessor extends packages.BatchSpanProcessor {
    override onEnd: (span: ReadableSpan) => void = AsyncResource.bind((span: ReadableSpan) => {
      if (isSampled(span)) super.onEnd(maskSpan(span, redactor))
    })
  }
  return [new ExportProcessor(exporter)]
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & sampledFlag) !== 0
}

/** The bit of the trace flags that marks a sampled trace (W3C Trace Context). */
const sampledFlag = 1

function createSampler(settings: OpenTelemetrySettings, packages: Packages): Sampler {
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio } = settings
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = packages
  const root = name.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler()
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** Records all spans, and leaves to another sampler which of them are sent. */
class RecordingSampler implements Sampler {
  readonly #inner: Sampler
  readonly #decisions: Packages['SamplingDecision']

  constructor(inner: Sampler, { SamplingDecision }: Packages) {
    this.#inner = inner
    this.#decisions = SamplingDecision
  }

  shouldSample(...parameters: Parameters<Sampler['shouldSample']>): ReturnType<Sampler['shouldSample']> {
    const { NOT_RECORD, RECORD } = this.#decisions
    const result = this.#inner.shouldSample(...parameters)
    return result.decision === NOT_RECORD ? { ...result, decision: RECORD } : result
  }
}

/** The attributes of all spans. Those of the settings take precedence. */
function describeService({ directory, environment, settings }: ProviderOptions): SpanAttributes {
  const { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: service } = settings
  const { name, version } = readManifest(directory)
  return {
    ...(typeof name === 'string' && { 'service.name': name }),
    ...(typeof version === 'string' && { 'service.version': version }),
    'deployment.environment.name': environment,
    'process.pid': process.pid,
    ...attributes,
    ...(service !== undefined && { 'service.name': service }),
  }
}

function readManifest(directory: string): { readonly name?: unknown; readonly version?: unknown } {
  try {
    return Object(JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')))
  } catch {
    return {}
  }
}

/** Rejects when a promise takes more than some milliseconds. */
async function withLimit(promise: Promise<void>, timeLimit: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the endpoint has not taken them within ${timeLimit} ms`)), timeLimit)
  })
  try {
    await Promise.race([promise, limit])
  } finally {
    clearTimeout(timer)
  }
}
