import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, ExceptionEvent, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop, SHOP_SOLD_OUT } from './failing-shop.ts'

const politeBundle: Bundle = {
  name: 'polite',
  register({ dispatcher }) {
    dispatcher.on(ExceptionEvent, event => {
      if (event.error instanceof SHOP_SOLD_OUT) event.respond(Response.html('<h1>Sorry, it is sold out.</h1>'))
    })
  },
}

test('a listener may answer an exception', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop, politeBundle] })
  t.after(close)
  const response = await client.get('/reserve/booth')
  assert.equal(response.text, '<h1>Sorry, it is sold out.</h1>')
  assert.equal(response.status, 409, 'the status stays that of the error')
})
