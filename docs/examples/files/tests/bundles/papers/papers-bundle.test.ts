import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { papersBundle } from '../../../bundles/papers/papers-bundle.ts'

test('reports are sent, and nothing outside of their folder', async t => {
  const directory = mkdtempSync(path.join(tmpdir(), 'papers-'))
  const reports = path.join(directory, 'var/reports')
  mkdirSync(reports, { recursive: true })
  writeFileSync(path.join(reports, '7.pdf'), 'seven')
  writeFileSync(path.join(directory, '.env'), 'SECRET=1')
  const bundles = [createFrameworkBundle(), papersBundle]
  const { client, close } = await createTestKernel({ bundles, directory })
  t.after(async () => {
    await close()
    rmSync(directory, { recursive: true })
  })
  const part = await client.get('/reports/7.pdf', { headers: { range: 'bytes=0-1' } })
  assert.deepEqual([part.status, part.text], [206, 'se'])
  assert.equal(part.headers.get('content-disposition'), 'attachment; filename="7.pdf"')
  const preview = await client.get('/preview/7')
  assert.equal(preview.headers.get('content-disposition'), 'inline; filename="Report 7.pdf"')
  assert.equal((await client.get('/archive')).text, 'all reports')
  for (const name of ['..%2F..%2F.env', '../../.env', 'nothing.pdf']) {
    assert.equal((await client.get(`/reports/${name}`)).status, 404, name)
  }
})
