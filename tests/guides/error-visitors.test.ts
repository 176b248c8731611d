import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { failingShop } from './failing-shop.ts'

const json = { headers: { accept: 'application/json' } }

t.test('a visitor learns the status, and of a failure nothing else', async t => {
  const { client, close } = await createTestKernel({
    bundles: [frameworkBundle, failingShop],
    variables: { APP_ENV: 'prod' },
  })
  t.teardown(close)
  const page = await client.get('/pay')
  t.equal(page.status, 500)
  t.match(page.text, 'An Error Occurred: Internal Server Error')
  t.notMatch(page.text, /bank|4711/)

  t.match((await client.get('/pay', json)).json(), { status: 500, detail: 'Internal Server Error' })
  t.match((await client.get('/reserve/booth', json)).json(), { detail: 'Of "booth" there are only 2 left.' })
})
