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
 * The instrumentations of this process. They are registered before the application is loaded,
 * because an instrumentation sees a library only if it is registered before the library is imported.
 * With one of them tracing is on, also without an endpoint: the profiler reads their spans.
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
