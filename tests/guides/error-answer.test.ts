import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { Response } from '../../lib/http/response.ts'
import { failingShop, SHOP_SOLD_OUT } from './failing-shop.ts'

const politeBundle: Bundle = {
  name: 'polite',
  register({ dispatcher }) {
    dispatcher.on(ExceptionEvent, event => {
      if (event.error instanceof SHOP_SOLD_OUT) event.respond(Response.html('<h1>Sorry, somebody was quicker.</h1>'))
    })
  },
}

t.test('a listener may have a better answer', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop, politeBundle] })
  t.teardown(close)
  const response = await client.get('/reserve/booth')
  t.equal(response.text, '<h1>Sorry, somebody was quicker.</h1>')
  t.equal(response.status, 409, 'the status stays that of the error')
})
