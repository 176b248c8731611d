import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop } from './failing-shop.ts'

const json = { headers: { accept: 'application/json' } }

test('in production a client gets the status of a failure, and no details', async t => {
  const { client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), failingShop],
    variables: { APP_ENV: 'prod' },
  })
  t.after(close)
  const page = await client.get('/pay')
  assert.equal(page.status, 500)
  assert.match(page.text, /An Error Occurred: Internal Server Error/)
  assert.doesNotMatch(page.text, /bank|4711/)

  assert.match((await client.get('/pay', json)).text, /"status":500,"detail":"Internal Server Error"/)
  assert.match((await client.get('/reserve/booth', json)).text, /"detail":"Of .* there are only 2 left\."/)
})
