import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createTestKernel } from 'sinfonietta/testing'
import { stockBundle } from '../../../bundles/stock/stock-bundle.ts'

test('a call to another service continues the trace of the request', async t => {
  const { client, close } = await createTestKernel({
    bundles: [createOpenTelemetryBundle(), createFrameworkBundle(), stockBundle],
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_TIMEOUT: '100' },
  })
  t.after(close)
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const response = await client.get('/stock', { headers: { traceparent } })
  assert.match(response.text, /"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01"/)
})
