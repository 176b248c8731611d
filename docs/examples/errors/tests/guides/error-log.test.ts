import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop } from './failing-shop.ts'

test('every error is logged once, at a higher level if the code caused it', async t => {
  const { client, records, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop] })
  t.after(close)
  const logged = async (path: string) => {
    const before = records.length
    await client.get(path)
    const uncaught = records.slice(before).filter(({ message }) => message.startsWith('Uncaught'))
    return uncaught.map(({ channel, level, message }) => `${channel}.${level} ${message}`).join('\n')
  }
  assert.match(
    await logged('/pay'),
    /^request\.critical Uncaught Error: "The bank said.*" at failing-shop\.ts line \d+$/,
  )
  const soldOut = 'request.error Uncaught SHOP_SOLD_OUT: "Of "booth" there are only 2 left."'
  assert.equal(await logged('/reserve/booth'), soldOut)
  assert.match(await logged('/nowhere'), /^request\.error Uncaught KERNEL_NO_ROUTE: "No route found.*$/)
})

test('in production, a request without a route is logged as info', async t => {
  const { client, records, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), failingShop],
    variables: { APP_ENV: 'prod' },
  })
  t.after(close)
  await client.get('/nowhere')
  assert.ok(records.some(({ level, message }) => level === 'info' && message.startsWith('Uncaught KERNEL_NO_ROUTE')))
})
