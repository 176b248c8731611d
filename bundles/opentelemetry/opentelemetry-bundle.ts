import type { Application, Bundle, Foundation } from '../../kernel/bundle.ts'
import { observeHttpCalls } from '../../kernel/contracts/calls.ts'
import { traceContextOf } from '../../kernel/contracts/trace-context.ts'
import { isDebugOn } from '../../kernel/debug/debug-gate.ts'
import { TraceableEventDispatcher } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import type { LogIds } from '../../lib/log/logger.ts'
import { configureInstrumentation, watchLibraries } from '../libraries/libraries.ts'
import { createCallSpans, createQuerySpans } from './client-spans.ts'
import { instrumentations, requestOf } from './instrumentations.ts'
import { loadPackages, type Packages } from './load-packages.ts'
import { ExportReports, type StartedProvider, startProvider } from './provider.ts'
import { createListenerTracer, RequestSpans, TracedContext, TracedView, traceControllers } from './request-spans.ts'
import { findEndpoint, openTelemetrySettings } from './settings.ts'
import { createSpanQueries } from './span-queries.ts'

/** Milliseconds in which the last spans are sent when the application stops. */
const flushTime = 2_000

/**
 * Creates the bundle that sends traces to an OpenTelemetry collector or back end. It is off until
 * the setting `OTEL_EXPORTER_OTLP_ENDPOINT` is set or, with debug, an instrumentation is
 * registered: then each request has a span, and its work runs in an OpenTelemetry context.
 */
export function createOpenTelemetryBundle(): Bundle {
  let isOn = false
  let spans: RequestSpans | undefined
  let provider: StartedProvider | undefined
  let uncorrelate = () => {}
  const stops: (() => void)[] = []

  return {
    name: 'opentelemetry',
    settings: openTelemetrySettings,

    decorate(foundation) {
      isOn = isWanted(foundation)
      if (!isOn) return foundation
      const { context, dispatcher, view } = foundation
      const findSpans = () => spans
      return {
        ...foundation,
        context: new TracedContext(context, findSpans),
        dispatcher: new TraceableEventDispatcher(dispatcher, createListenerTracer(findSpans)),
        view: new TracedView(view, findSpans),
      }
    },

    async register(app) {
      if (!isOn) return
      const { config, context, directory, logger, redactor, routes } = app
      const settings = app.settings.of(openTelemetrySettings)
      const packages = await loadPackages(settings.OTEL_EXPORTER_OTLP_PROTOCOL)
      const reports = new ExportReports(logger.channel('opentelemetry'))
      const { environment } = config
      for (const instrumentation of instrumentations) configureInstrumentation(instrumentation)
      const processors = isDebugOn(config) ? [createSpanQueries(app)] : []
      provider = startProvider({ packages, settings, directory, environment, processors, redactor, reports })
      const { tracer } = provider
      spans = new RequestSpans({ packages, tracer, redactor, routes, isLeftOut: createLeftOut(app) })
      traceControllers(app, spans)
      const isSent = findEndpoint(settings) !== undefined
      uncorrelate = logger.correlate(() => findLogIds(packages, isSent))
      if (!isSent) return
      // Pools of libraries run the query of one request while another one returns its connection.
      context.enable()
      const services = { packages, spans, context, redactor }
      app.queries.observe(createQuerySpans(services))
      stops.push(observeHttpCalls(createCallSpans(services)))
      app.signals.on('kernel.booted', () => void stops.push(watchLibraries(app)))
    },

    async close() {
      await provider?.stop(flushTime)
      uncorrelate()
      for (const stop of stops) stop()
    },
  }
}

/** Without an endpoint, the profiler still reads the spans of instrumentations. */
function isWanted({ config, settings }: Foundation): boolean {
  const values = settings.of(openTelemetrySettings)
  if (values.OTEL_SDK_DISABLED || values.OTEL_TRACES_EXPORTER === 'none') return false
  return findEndpoint(values) !== undefined || (instrumentations.length > 0 && isDebugOn(config))
}

/**
 * The ids of the active span and its request. If spans are not sent, nothing else has the id of a
 * trace that began here.
 */
function findLogIds({ context, isSpanContextValid, trace }: Packages, isSent: boolean): LogIds | undefined {
  const span = trace.getActiveSpan()?.spanContext()
  if (span === undefined || !isSpanContextValid(span)) return undefined
  const request = requestOf(context.active())
  const ids = request === undefined ? {} : { requestId: request.id }
  if (!isSent && (request === undefined || traceContextOf(request)?.parentId === undefined)) return ids
  return { ...ids, span: { traceId: span.traceId, spanId: span.spanId } }
}

/** Pages of the profiler and health checks have no span. */
function createLeftOut({ isolated }: Application): (request: Request) => boolean {
  return request => /^\/_health(?:\/|$)/.test(request.path) || isolated.some(test => test(request))
}
