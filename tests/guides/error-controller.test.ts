import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { currentRequest } from '../../kernel/controller/arguments.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { Response } from '../../lib/http/response.ts'
import { failingShop } from './failing-shop.ts'

const lostBundle: Bundle = {
  name: 'lost',
  register({ controllers }) {
    controllers.decorate('error_controller', usual =>
      defineController('error_controller', [currentRequest], request => {
        const error = request.attributes.get('exception')
        const isLost = error instanceof HttpError && error.status === 404
        return isLost ? Response.html('<h1>Are you lost?</h1>', { status: 404 }) : usual.call(request)
      }),
    )
  },
}

t.test('an error controller of your own may answer some errors, and leave the others', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, failingShop, lostBundle] })
  t.teardown(close)
  t.equal((await client.get('/nowhere')).text, '<h1>Are you lost?</h1>')
  t.equal((await client.get('/pay')).status, 500)
})
