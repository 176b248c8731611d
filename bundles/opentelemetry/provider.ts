import { AsyncResource } from 'node:async_hooks'
import type {
  Attributes,
  AttributeValue,
  Attributes as SpanAttributes,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'
import type { ReadableSpan, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { readManifest } from '../../lib/find-package.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { within } from '../../lib/own-globals.ts'
import { version } from '../../lib/package.ts'
import { maskQuotedValues } from '../../lib/redact/mask-quoted-values.ts'
import { cut, maskAndCut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { mask } from '../../lib/redact/secret-names.ts'
import { isStatementAttribute, isValueAttribute, statementAttributes, systemAttributes } from '../../lib/sql/tokens.ts'
import { describeQuery } from './client-spans.ts'
import { instrumentations, ownScope } from './instrumentations.ts'
import type { Packages } from './load-packages.ts'
import { findEndpoint, type OpenTelemetrySettings } from './settings.ts'

interface ProviderOptions {
  readonly packages: Packages
  readonly settings: OpenTelemetrySettings
  /** The directory of the application: its package.json has the name of the service. */
  readonly directory: string
  /** `dev`, `prod` or `test`. */
  readonly environment: string
  /**
   * Processors that read spans in this process. With one of them all spans are recorded, also those that are not sent.
   */
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
    sampler: processors.length === 0 ? sampler : recordAll(sampler, packages),
    spanProcessors: [...createExporter(options), ...processors],
  })
  const unregister = register(packages, provider)
  const silence = routeReports(packages, reports)
  return {
    tracer: provider.getTracer(ownScope, version),
    async stop(timeLimit) {
      try {
        if (
          (await within(
            timeLimit,
            provider.shutdown().then(() => true),
          )) === undefined
        )
          reports.fail(`the endpoint has not taken them within ${timeLimit} ms`)
      } catch (error) {
        reports.fail(error)
      }
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
      if ((span.spanContext().traceFlags & sampledFlag) !== 0) super.onEnd(maskSpan(span, redactor))
    })
  }
  return [new ExportProcessor(exporter)]
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
function recordAll(inner: Sampler, { SamplingDecision: { NOT_RECORD, RECORD } }: Packages): Sampler {
  return {
    shouldSample(...parameters) {
      const result = inner.shouldSample(...parameters)
      return result.decision === NOT_RECORD ? { ...result, decision: RECORD } : result
    },
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

/** The most characters of a text in an attribute. */
const textLimit = 2048

/**
 * Masks a span before it leaves the process. The spans of instrumentations contain whole statements and their values,
 * addresses and messages. The bundle's own spans are masked when they are made.
 */
function maskSpan(span: ReadableSpan, redactor: Redactor): ReadableSpan {
  const { attributes, events, instrumentationScope, links, name, status } = span
  if (instrumentationScope.name === ownScope) return span
  const maskMessage = createMessageMask(attributes, redactor)
  const maskIn = (part: Attributes | undefined): Attributes => maskAttributes({ ...part }, redactor)
  // All other members are those of the span itself.
  return Object.create(span, {
    name: { value: nameOf(name, attributes, redactor) },
    attributes: { value: maskAttributes(attributes, redactor) },
    events: {
      value: events.map(event => ({
        ...event,
        name: redactor.text(event.name),
        attributes: maskIn(maskException(event.attributes, maskMessage)),
      })),
    },
    links: { value: links.map(link => ({ ...link, attributes: maskIn(link.attributes) })) },
    status: { value: status.message === undefined ? status : { ...status, message: maskMessage(status.message) } },
  })
}

/**
 * The instrumentation of pg names a span by the database: its name becomes that of the convention,
 * as for other databases.
 */
function nameOf(name: string, attributes: Attributes, redactor: Redactor): string {
  const statement = statementOf(attributes)
  return name.startsWith('pg.query') && statement !== ''
    ? describeQuery(systemOf(attributes), statement, redactor).summary
    : redactor.text(name)
}

function statementOf(attributes: Attributes): string {
  const [newer, older] = statementAttributes
  return String(attributes[newer] ?? attributes[older] ?? '')
}

/** The messages of databases contain values of the statement. */
function createMessageMask(attributes: Attributes, redactor: Redactor): (message: string) => string {
  const system = systemOf(attributes)
  if (system === '') return message => maskText(message, redactor)
  const { text: shape } = describeQuery(system, statementOf(attributes), redactor)
  return message => cut(maskQuotedValues(redactor.text(message), shape), textLimit)
}

/** Masks the message of an exception, and at the beginning of its stack. */
function maskException(attributes: Attributes | undefined, maskMessage: (message: string) => string): Attributes {
  const { 'exception.message': message, 'exception.stacktrace': stack } = { ...attributes }
  if (typeof message !== 'string' || message === '') return { ...attributes }
  const masked = maskMessage(message)
  return {
    ...attributes,
    'exception.message': masked,
    ...(typeof stack === 'string' && { 'exception.stacktrace': stack.split(message).join(masked) }),
  }
}

function systemOf(attributes: Attributes): string {
  const [newer, older] = systemAttributes
  return String(attributes[newer] ?? attributes[older] ?? '')
}

function maskAttributes(attributes: Attributes, redactor: Redactor): Attributes {
  const system = systemOf(attributes)
  const masked = Object.entries(attributes).flatMap(([name, value]): [string, AttributeValue | undefined][] => {
    if (isValueAttribute(name)) return []
    if (isStatementAttribute(name)) return [[name, describeQuery(system, String(value ?? ''), redactor).text]]
    return [[name, maskValue(name, value, redactor)]]
  })
  return Object.fromEntries(masked)
}

function maskValue(name: string, value: AttributeValue | undefined, redactor: Redactor): AttributeValue | undefined {
  if (typeof value !== 'string' && !Array.isArray(value)) return value
  if (redactor.isSecret(name)) return mask
  if (typeof value === 'string') return maskText(value, redactor)
  return value.map(each => (typeof each === 'string' ? maskText(each, redactor) : each)) as AttributeValue
}

function maskText(text: string, redactor: Redactor): string {
  return maskAndCut(text, textLimit, redactor)
}

/** Milliseconds between two warnings. */
const interval = 60_000

/** Logs that spans were lost: the first time at once, then at most once a minute. */
export class ExportReports {
  readonly #logger: Logger
  readonly #clock: () => number
  #last = Number.NEGATIVE_INFINITY
  #omitted = 0

  /** The clock gives milliseconds. */
  constructor(logger: Logger, clock: () => number = () => performance.now()) {
    this.#logger = logger
    this.#clock = clock
  }

  /** Reports a failed export, or another problem of the packages. */
  fail(problem: unknown): void {
    const now = this.#clock()
    if (now - this.#last < interval) {
      this.#omitted++
      return
    }
    const more = this.#omitted === 0 ? {} : { omitted: this.#omitted }
    this.#last = now
    this.#omitted = 0
    this.#logger.warning('Spans of OpenTelemetry were lost: {reason}.', { reason: describeProblem(problem), ...more })
  }
}

/** The message of an error, which is empty if all addresses of a host have refused; then its code. */
function describeProblem(problem: unknown): string {
  if (!(problem instanceof Error)) return String(problem)
  return problem.message || ('code' in problem ? String(problem.code) : problem.name)
}

/** Passes problems of the packages to the reports, until the returned function is called. */
function routeReports(
  { DiagLogLevel, diag, loggingErrorHandler, setGlobalErrorHandler }: Packages,
  reports: ExportReports,
): () => void {
  const fail = (message: string) => reports.fail(message)
  // The level excludes the last three.
  const logger = { error: fail, warn: fail, info: fail, debug: fail, verbose: fail }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  setGlobalErrorHandler(error => reports.fail(error))
  return () => {
    diag.disable()
    setGlobalErrorHandler(loggingErrorHandler())
  }
}
