import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'

const signUpBundle: Bundle = {
  name: 'sign-up',
  register({ routes }) {
    routes.get('sign_up', '/sign-up', () => {
      const detail = 'Key (email)=(ada@example.com) already exists.'
      throw Object.assign(new Error('duplicate key value'), { code: '23505', table: 'users', detail })
    })
  },
}

test('in development an error shows its properties, masked', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), signUpBundle] })
  t.after(close)
  const problem = await client.get('/sign-up', { headers: { accept: 'application/json' } })
  assert.match(problem.text, /"code":"23505"/)
  assert.match(problem.text, /"table":"users","detail":"Key \(email\)=\(\*{6}\) already exists\."/)
})
