import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'
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

/** With their versions: npm would otherwise mix version 2 of some with version 3 of others, which do not fit together. */
const commonPackages = ['api@1.9', 'context-async-hooks@2', 'core@2', 'resources@2', 'sdk-trace-base@2']

const exporterPackages: Readonly<Record<Protocol, string>> = {
  'http/protobuf': 'exporter-trace-otlp-proto@0.223',
  'http/json': 'exporter-trace-otlp-http@0.223',
}

/** Imports the packages; both exporters have a class of the same name. @throws OPENTELEMETRY_PACKAGE_MISSING */
export async function loadPackages(
  protocol: Protocol,
  load: (protocol: Protocol) => Promise<Packages> = importPackages,
): Promise<Packages> {
  try {
    return await load(protocol)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    const names = [...commonPackages, exporterPackages[protocol]].map(name => `@opentelemetry/${name}`)
    throw new OPENTELEMETRY_PACKAGE_MISSING([names.join(' ')], { cause: error })
  }
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
