import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Gauge, Registry } from 'prom-client'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel, silentLogger } from 'sinfonietta/testing'
import { createFerriesBundle } from '../bundles/ferries/ferries-bundle.ts'
import { createMetrics, serveMetrics } from '../bundles/ferries/metrics.ts'

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

test('a new worker gets the port of the metrics when the old one drains', async () => {
  const port = 20_000 + (process.pid % 10_000)
  const [old, next] = ['old_up', 'new_up'].map(name => {
    const register = new Registry()
    new Gauge({ name, help: name, registers: [register] }).set(1)
    return register
  })
  assert.ok(old && next)
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text()
  const stopOld = serveMetrics(old, port, silentLogger)
  const stopNew = serveMetrics(next, port, silentLogger)
  assert.match(await scrape(), /old_up 1/)
  stopOld()
  for (let text = ''; !text.includes('new_up 1'); ) {
    await setTimeout(20)
    text = await scrape().catch(() => '')
  }
  stopNew()
})
