import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { Jobs } from '../../../bundles/reports/jobs.ts'
import { ReportsBundle } from '../../../bundles/reports/reports-bundle.ts'

test('a report is made after the response, and before the process ends', async () => {
  const bundle = new ReportsBundle()
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  const started = await client.post('/reports?limit=100000')
  assert.equal(started.status, 202)
  const pending = await client.get(String(started.headers.get('location')))
  assert.deepEqual(pending.json(), { isReady: false })
  await close()
  assert.deepEqual([...bundle.reports.values()], [9592])
})

test('a job that fails is logged, and a job too many is refused', async t => {
  const { app, close, records } = await createTestKernel({ bundles: [createFrameworkBundle()] })
  t.after(close)
  const jobs = new Jobs(app.logger, 1)
  const isStarted = jobs.start('failing', async () => {
    throw new Error('No paper')
  })
  assert.equal(isStarted, true)
  assert.equal(
    jobs.start('second', async () => {}),
    false,
  )
  await jobs.close()
  assert.equal(records.at(-1)?.level, 'error')
  assert.equal(records.at(-1)?.message, 'The job failing has failed.')
})
