import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, HttpError } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'

const payBundle: Bundle = {
  name: 'pay',
  register({ routes }) {
    routes.add({
      name: 'pay',
      path: '/pay',
      defaults: { _format: 'json' },
      controller: () => {
        throw new HttpError(403, 'The balance is too low.', { members: { balance: 30, accounts: ['/accounts/1'] } })
      },
    })
  },
}

test('problem details have members of their own', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), payBundle] })
  t.after(close)
  assert.match((await client.get('/pay')).text, /"status":403,.*"balance":30,"accounts":\["\/accounts\/1"\]/)
})
