import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { failingShop, SHOP_SOLD_OUT } from './failing-shop.ts'

t.test('the status and the headers are those of the error', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop] })
  t.teardown(close)
  const response = await client.get('/order?item=booth')
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), '60')
  t.equal((await client.get('/order?item=moon')).status, 404)
  t.equal((await client.get('/order')).status, 400, 'the query parameter is missing')
})

t.test('an error of a catalogue has a code and a status', async t => {
  t.match(new SHOP_SOLD_OUT(['booth', 2]), {
    code: 'SHOP_SOLD_OUT',
    status: 409,
    message: 'Of "booth" there are only 2 left.',
  })
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop] })
  t.teardown(close)
  t.equal((await client.get('/reserve/booth')).status, 409)
})
