import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import type { Test } from 'tap'
import { startTraceReceiver, type TraceReceiver } from '#tests/support/trace-receiver.ts'

/** A kernel that sends its spans to a receiver of the test. */
export interface TracedKernel extends TestKernel {
  readonly receiver: TraceReceiver
}

/** The options of a traced kernel. */
export interface TracedInit {
  readonly register?: Bundle['register']
  readonly bundles?: readonly Bundle[]
  readonly variables?: Readonly<Record<string, string>>
  readonly directory?: string
}

/** Boots a kernel with tracing. `close` sends its spans. */
export async function createTracedKernel(t: Test, init: TracedInit = {}): Promise<TracedKernel> {
  const { bundles = [], directory, register = () => {}, variables } = init
  const receiver = await startTraceReceiver(t)
  const kernel = await createTestKernel({
    bundles: [createOpenTelemetryBundle(), createFrameworkBundle(), { name: 'own', register }, ...bundles],
    variables: { APP_ENV: 'prod', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...variables },
    ...(directory !== undefined && { directory }),
  })
  t.teardown(() => kernel.close())
  return { ...kernel, receiver }
}
