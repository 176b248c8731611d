import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createFerriesBundle } from '../bundles/ferries/ferries-bundle.ts'
import { createMetrics } from '../bundles/ferries/metrics.ts'

test('log, id, health and metrics', async t => {
  const bundles = [createFrameworkBundle(), createFerriesBundle()]
  const { app, client, close, records } = await createTestKernel({ bundles, variables: { ACCESS_LOG: '1' } })
  t.after(close)
  const metrics = createMetrics(app.signals)
  const response = await client.get('/ferries/night?from=here')

  const requestId = response.headers.get('x-request-id')
  const [late, access] = records.filter(
    record => record.requestId === requestId && ['access', 'ferries'].includes(record.channel),
  )
  assert.deepEqual([late?.level, late?.message], ['warning', 'The ferry night is late.'])
  assert.deepEqual([access?.level, access?.message], ['info', 'GET /ferries/night 200'])
  assert.deepEqual([access?.context.route, access?.context.bytes], ['ferry', 33])
  const { status, text } = await client.get('/_health')
  assert.equal(status, 200)
  assert.match(text, /"status":"ready"/)
  const count = 'http_server_request_duration_seconds_count{method="GET",route="ferry",status="200"} 1'
  assert.ok((await metrics.metrics()).includes(count))
})
