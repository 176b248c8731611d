import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'

class RowMissing extends Error {}

const framework = createFrameworkBundle({
  exceptions: [
    { type: RowMissing, status: 404, level: 'info' },
    { type: 'UniqueConstraintError', status: 409 },
    { type: 'AbortError', level: 'debug' },
  ],
})

test('the error of a library is a 404, and its message is not sent', async t => {
  const { client, close } = await createTestKernel({
    bundles: [
      framework,
      {
        name: 'rows',
        register({ routes }) {
          routes.get('row', '/row', () => {
            throw new RowMissing('No row in users where id = 7.')
          })
        },
      },
    ],
    variables: { APP_ENV: 'prod' },
  })
  t.after(close)
  const { json, status } = await client.get('/row', { headers: { accept: 'application/json' } })
  assert.equal(status, 404)
  assert.equal((json() as { detail: string }).detail, 'Not Found')
})
