import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, defineController, HttpError, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop } from './failing-shop.ts'

const lostBundle: Bundle = {
  name: 'lost',
  register({ controllers }) {
    controllers.decorate('error_controller', usual =>
      defineController('error_controller', request => {
        const error = request.attributes.get('exception')
        const isLost = error instanceof HttpError && error.status === 404
        return isLost ? Response.html('<h1>Are you lost?</h1>', { status: 404 }) : usual.call(request)
      }),
    )
  },
}

test('an own error controller may answer some errors, and leave the others', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop, lostBundle] })
  t.after(close)
  assert.equal((await client.get('/nowhere')).text, '<h1>Are you lost?</h1>')
  assert.equal((await client.get('/pay')).status, 500)
})
