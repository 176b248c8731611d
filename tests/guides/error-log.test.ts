import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { failingShop } from './failing-shop.ts'

t.test('every error is logged once, louder when the code is to blame', async t => {
  const { client, records, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop] })
  t.teardown(close)
  const logged = async (path: string) => {
    const before = records.length
    await client.get(path)
    return records.slice(before).filter(({ message }) => message.startsWith('Uncaught'))
  }
  t.match(await logged('/pay'), [
    {
      level: 'critical',
      channel: 'request',
      message: /^Uncaught Error: "The bank said.*" at failing-shop\.ts line \d+$/,
    },
  ])
  t.match(await logged('/reserve/booth'), [
    { level: 'error', message: 'Uncaught SHOP_SOLD_OUT: "Of "booth" there are only 2 left."' },
  ])
  t.match(await logged('/nowhere'), [{ level: 'error', message: /^Uncaught KERNEL_NO_ROUTE: "No route found/ }])
})

t.test('in production, addresses that do not exist are no news', async t => {
  const { client, records, close } = await createTestKernel({
    bundles: [frameworkBundle, failingShop],
    variables: { APP_ENV: 'prod' },
  })
  t.teardown(close)
  await client.get('/nowhere')
  t.ok(records.some(({ level, message }) => level === 'info' && message.startsWith('Uncaught KERNEL_NO_ROUTE')))
})
