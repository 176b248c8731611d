import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, defineController } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop } from './failing-shop.ts'

const brokenBundle: Bundle = {
  name: 'broken',
  register({ controllers }) {
    controllers.decorate('error_controller', () =>
      defineController('error_controller', () => {
        throw new Error('This page is broken, too.')
      }),
    )
  },
}

test('when the error page fails, there is still an answer', async t => {
  const { createClient, records, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), failingShop, brokenBundle],
  })
  t.after(close)
  const stranger = createClient({ remoteAddress: '203.0.113.5' })
  const response = await stranger.get('/reserve/booth')
  assert.equal(response.status, 500)
  assert.equal(response.text, 'Internal Server Error\n')
  assert.ok(records.some(({ message }) => message === 'An error could not be answered.'))
  assert.match((await createClient().get('/reserve/booth')).text, /Error: This page is broken, too\./)
})
