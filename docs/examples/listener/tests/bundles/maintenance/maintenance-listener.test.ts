import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel } from 'sinfonietta/testing'
import { maintenanceBundle } from '../../../bundles/maintenance/maintenance-bundle.ts'
import { MaintenanceListener } from '../../../bundles/maintenance/maintenance-listener.ts'
import { emitRefusals, logRefusals } from '../../../bundles/maintenance/refusals.ts'

function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'maintenance-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

test('while the file exists, main requests are answered with 503', async t => {
  const file = path.join(makeDirectory(t), 'closed')
  writeFileSync(file, '')
  const listener = new MaintenanceListener(file)
  const event = createRequestEvent()
  await listener.onRequest(event)
  assert.equal(event.response?.status, 503)
  assert.ok(event.isPropagationStopped)

  const within = createRequestEvent({ request: createRequest().duplicate() })
  await listener.onRequest(within)
  assert.equal(within.response, undefined)
})

test('the health check works nevertheless', async t => {
  const directory = makeDirectory(t)
  mkdirSync(path.join(directory, 'var'))
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), maintenanceBundle], directory })
  t.after(close)
  assert.equal((await client.get('/nowhere')).status, 404)
  writeFileSync(path.join(directory, 'var/maintenance'), '')
  assert.equal((await client.get('/nowhere')).status, 503)
  assert.equal((await client.get('/_health')).status, 200)
})

test('a refused request is a signal, which another bundle logs', async t => {
  const directory = makeDirectory(t)
  mkdirSync(path.join(directory, 'var'))
  writeFileSync(path.join(directory, 'var/maintenance'), '')
  const emitter = { name: 'emitter', register: emitRefusals }
  const log = { name: 'log', register: logRefusals }
  const bundles = [createFrameworkBundle(), maintenanceBundle, emitter, log]
  const { client, close, records } = await createTestKernel({ bundles, directory })
  t.after(close)
  await client.get('/cart')
  assert.ok(records.some(({ context }) => context.path === '/cart'))
})
