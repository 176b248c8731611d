import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { failingShop } from './failing-shop.ts'

t.test('a program gets problem details, a terminal gets text', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop] })
  t.teardown(close)
  const page = await client.get('/reserve/booth')
  t.equal(page.headers.get('content-type'), 'text/html; charset=UTF-8')

  const problem = await client.get('/reserve/booth', { headers: { accept: 'application/json' } })
  t.equal(problem.headers.get('content-type'), 'application/problem+json')
  t.match(problem.json(), { title: 'Conflict', status: 409, detail: 'Of "booth" there are only 2 left.' })

  const text = await client.get('/reserve/booth', { headers: { accept: 'text/plain' } })
  t.match(text.text, /^# 409 Conflict/)
})
