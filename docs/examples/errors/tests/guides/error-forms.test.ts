import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop } from './failing-shop.ts'

test('a program gets problem details, a terminal gets text', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop] })
  t.after(close)
  const page = await client.get('/reserve/booth')
  assert.equal(page.headers.get('content-type'), 'text/html; charset=UTF-8')

  const problem = await client.get('/reserve/booth', { headers: { accept: 'application/json' } })
  assert.equal(problem.headers.get('content-type'), 'application/problem+json')
  assert.match(problem.text, /"title":"Conflict","status":409,"detail":"Of .* there are only 2 left\."/)

  const text = await client.get('/reserve/booth', { headers: { accept: 'text/plain' } })
  assert.match(text.text, /^# 409 Conflict/)
})
