import { createFrameworkBundle } from 'sinfonietta'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

const { app, client, close, records } = await createTestKernel({
  bundles: [
    createFrameworkBundle(),
    { name: 'home', register: ({ routes }) => void routes.get('home', '/', () => Response.text('home')) },
  ],
  variables: { APP_ENV: 'prod', APP_HOSTS: 'example.org,*.example.org' },
})
t.teardown(close)

t.test('only the hosts of the site are served', async t => {
  const ask = (host: string) => app.kernel.handle(createRequest('/', { headers: { host } }), { catchErrors: false })
  for (const host of ['example.org', 'EXAMPLE.org:8000', 'www.example.org'])
    t.equal((await ask(host)).body, 'home', host)
  for (const host of ['example.com', 'localhost', 'badexample.org']) {
    await t.rejects(ask(host), { code: 'HTTP_HOST_FOREIGN', status: 400 }, host)
  }
  await t.rejects(ask('.example.org'), { code: 'HTTP_HOST_INVALID' })
  const foreign = createRequest('/', { headers: { host: 'example.com' } })
  t.equal((await app.kernel.handle(foreign.duplicate())).status, 200, 'a sub-request is made by the application')
})

t.test('in production, where the hosts are set, others get a 400, and supervisors their answer', async t => {
  const statusOf = async (target: string, host: string) => (await client.get(target, { headers: { host } })).status
  t.equal(await statusOf('/nope', 'example.org'), 404)
  t.equal(await statusOf('/nope', 'example.com'), 400)
  t.equal(await statusOf('/_health', '10.0.0.7'), 200)
})

t.test('the log names each of the first refused hosts once', async t => {
  for (let count = 0; count < 30; count++)
    for (const host of ['www.example.com', `${count}.example.com`]) await client.get('/', { headers: { host } })
  const warnings = records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  const expected =
    'Requests for the host www.example.com are refused with 400: APP_HOSTS does not have it. If it is a name of this site, add it there. If a proxy has written it, pass on the header Host (nginx: proxy_set_header Host $host).'
  t.strictSame(
    warnings.filter(message => message.includes('www.')),
    [expected],
  )
  t.equal(warnings.length, 20)
})
