import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'
import { loadOptional } from '../../lib/optional-packages.ts'
import type { Protocol } from './settings.ts'

/** An endpoint for traces is set, and packages of OpenTelemetry are missing. Run the `npm install` of the message. */
export const OPENTELEMETRY_PACKAGE_MISSING: CodedErrorClass<[packages: string]> = defineError(
  'OPENTELEMETRY_PACKAGE_MISSING',
  500,
  'Tracing is on, but its packages are not installed: npm install %s',
)

/** The parts of OpenTelemetry's packages that are used. */
export type Packages = typeof import('@opentelemetry/api') &
  Pick<typeof import('@opentelemetry/context-async-hooks'), 'AsyncLocalStorageContextManager'> &
  Pick<
    typeof import('@opentelemetry/core'),
    'W3CTraceContextPropagator' | 'setGlobalErrorHandler' | 'loggingErrorHandler' | 'suppressTracing'
  > &
  Pick<typeof import('@opentelemetry/resources'), 'defaultResource' | 'resourceFromAttributes'> &
  Pick<
    typeof import('@opentelemetry/sdk-trace-base'),
    | 'AlwaysOffSampler'
    | 'AlwaysOnSampler'
    | 'BasicTracerProvider'
    | 'BatchSpanProcessor'
    | 'ParentBasedSampler'
    | 'TraceIdRatioBasedSampler'
  > &
  Pick<typeof import('@opentelemetry/exporter-trace-otlp-proto'), 'OTLPTraceExporter'>

const exporters = {
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
} as const satisfies Readonly<Record<Protocol, string>>

/**
 * Imports the packages; both exporters have a class of the same name. @throws
 * OPENTELEMETRY_PACKAGE_MISSING PACKAGE_VERSION_UNFIT
 */
export function loadPackages(
  protocol: Protocol,
  load: (protocol: Protocol) => Promise<Packages> = importPackages,
): Promise<Packages> {
  return loadOptional({
    feature: 'Tracing',
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/context-async-hooks',
      '@opentelemetry/core',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
      exporters[protocol],
    ],
    load: () => load(protocol),
    missing: (packages, cause) => new OPENTELEMETRY_PACKAGE_MISSING([packages], { cause }),
  })
}

async function importPackages(protocol: Protocol): Promise<Packages> {
  const [api, hooks, core, resources, sdk, exporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-base'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
  ])
  return { ...hooks, ...core, ...resources, ...sdk, ...exporter, ...api }
}
