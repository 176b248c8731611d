import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'

t.test('the page that visitors see can be looked at while you work on it', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle] })
  t.teardown(close)
  const page = await client.get('/_error/503')
  t.equal(page.status, 503)
  t.match(page.text, 'The server returned a "503 Service Unavailable".')
})
