import type { Context, TracerProvider } from '@opentelemetry/api'
import type { Request } from '../../lib/http/request.ts'

/** The part of an OpenTelemetry instrumentation of a library that the bundle uses. */
export interface LibraryInstrumentation {
  readonly instrumentationName: string
  setTracerProvider(provider: TracerProvider): void
  getConfig(): object
  setConfig(config: object): void
  /** The libraries that it changes. */
  getModuleDefinitions(): readonly { readonly name: string }[]
}

/**
 * The instrumentations of this process. They are registered before the application is loaded, because an instrumentation
 * sees a library only if it is registered before the library is imported. With one of them tracing is on, also without an
 * endpoint: the profiler reads their spans.
 */
export const instrumentations: LibraryInstrumentation[] = []

/** Whether an instrumentation makes the spans of a library. */
export function isInstrumented(library: string): boolean {
  return instrumentations.some(({ instrumentationName }) => instrumentationName.endsWith(`/instrumentation-${library}`))
}

/** The name of the instrumentation scope of the spans that the bundle makes itself. */
export const ownScope = 'sinfonietta'

/** The key of the request in the OpenTelemetry context of its work. `createContextKey` gives the same symbol. */
export const requestKey: symbol = Symbol.for('sinfonietta.request')

/** The request that an OpenTelemetry context belongs to: the main request, or a sub-request. */
export function requestOf(context: Context): Request | undefined {
  // Only the bundle sets this value.
  return context.getValue(requestKey) as Request | undefined
}

/**
 * Adds the number of rows to the spans of pg: its instrumentation leaves it to a hook. A hook of the application is called
 * as well.
 */
export function addRowCounts(instrumentation: LibraryInstrumentation): void {
  if (instrumentation.instrumentationName !== '@opentelemetry/instrumentation-pg') return
  const config: PgConfig = instrumentation.getConfig()
  const { responseHook } = config
  instrumentation.setConfig({
    ...config,
    responseHook(span: AttributeHolder, response: PgResponse) {
      const { rowCount } = response.data
      if (typeof rowCount === 'number') span.setAttribute('db.response.returned_rows', rowCount)
      responseHook?.(span, response)
    },
  })
}

interface PgConfig {
  readonly responseHook?: (span: AttributeHolder, response: PgResponse) => void
}

/** The part of a span that is used. */
interface AttributeHolder {
  setAttribute(name: string, value: number): unknown
}

/** A result of pg; `null` for commands without rows. */
interface PgResponse {
  readonly data: { readonly rowCount?: number | null }
}
