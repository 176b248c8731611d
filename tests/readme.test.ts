import { readFileSync } from 'node:fs'
import { createFrameworkBundle } from 'sinfonietta'
import { t } from 'tap'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { helloBundle } from './fixtures/hello-bundle.ts'
import { lifecycle } from './support/lifecycle.ts'
import { readRunTimePackages } from './support/run-time-packages.ts'

const readme = readFileSync('README.md', 'utf8')

t.test('the bundle of the README greets and signs', async t => {
  t.ok(readme.includes(readFileSync('tests/fixtures/hello-bundle.ts', 'utf8')))
  const { client, expectProfile } = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), helloBundle] })
  const response = await client.get('/hello/Ada')
  t.equal(response.text, 'Hello, Ada!')
  const profile = await expectProfile(response)
  profile.matched('hello').not.logged('warning')
  t.equal(response.headers.get('x-signed'), 'hello')
})

t.test('the README has the number of packages at run time', async t => {
  t.match(readme, `needs [${readRunTimePackages().length} others](docs/reference/packages.md)`)
})

t.test('the README names every event', async t => {
  for (const { eventName } of lifecycle) t.ok(readme.includes(`\`${eventName}\``), eventName)
})
