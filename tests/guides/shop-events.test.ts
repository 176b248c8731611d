import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
import { shopBundle } from './shop-bundle.ts'

t.test('a wrong address is answered by the error page, which is a sub-request', async t => {
  const dispatcher = new RecordingDispatcher()
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, shopBundle], dispatcher })
  t.teardown(close)

  t.equal((await client.get('/card')).status, 404)
  t.strictSame(dispatcher.sequence.slice(0, 3), ['kernel.request', 'kernel.exception', 'kernel.request (sub)'])
})
