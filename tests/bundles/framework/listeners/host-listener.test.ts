import { createFrameworkBundle, type Request } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { HostListener } from '#bundles/framework/listeners/request-listeners.ts'

const listener = new HostListener(['example.org', '*.example.org'])

function ask(host: string) {
  return check(createRequest('/', { headers: { host } }))
}

function check(request: Request) {
  return () => listener.onRequest(createRequestEvent({ request }))
}

t.test('only the hosts of the site are served', async t => {
  for (const host of ['example.org', 'EXAMPLE.org:8000', 'www.example.org']) t.doesNotThrow(ask(host), host)
  for (const host of ['example.com', 'localhost', 'badexample.org', '.example.org']) {
    t.throws(ask(host), { code: 'HTTP_HOST_FOREIGN', status: 400 }, host)
  }
  const foreign = createRequest('/', { headers: { host: 'example.com' } })
  t.doesNotThrow(check(foreign.duplicate()), 'a sub-request is made by the application')
})

t.test('in production, where the hosts are set, others get a 400, and supervisors their answer', async t => {
  const { client, close } = await createTestKernel({
    bundles: [createFrameworkBundle()],
    variables: { APP_ENV: 'prod', APP_HOSTS: 'example.org' },
  })
  t.teardown(close)
  const statusOf = async (target: string, host: string) => (await client.get(target, { headers: { host } })).status
  t.equal(await statusOf('/nope', 'example.org'), 404)
  t.equal(await statusOf('/nope', 'example.com'), 400)
  t.equal(await statusOf('/_health', '10.0.0.7'), 200)
})
