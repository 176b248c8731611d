import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { failingShop } from './failing-shop.ts'

const brokenBundle: Bundle = {
  name: 'broken',
  register({ controllers }) {
    controllers.decorate('error_controller', () =>
      defineController('error_controller', [], () => {
        throw new Error('This page is broken, too.')
      }),
    )
  },
}

t.test('when the error page fails, there is still an answer', async t => {
  const { client, records, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop, brokenBundle] })
  t.teardown(close)
  const response = await client.get('/reserve/booth')
  t.equal(response.status, 500)
  t.equal(response.text, 'Internal Server Error\n')
  t.match(records.at(-1), { level: 'critical', message: 'An error could not be answered.' })
})
