import { readFileSync } from 'node:fs'
import { RequestEvent } from 'sinfonietta'
import { t } from 'tap'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const foreign = { headers: { host: 'evil.example' } }

t.test('a developer sees the routes, with links to the routes that can be visited', async t => {
  const controller = () => undefined
  const { client } = await createProfiledKernel(t, {
    register({ routes }) {
      routes.add({ name: 'page', path: '/page', methods: ['GET', 'POST'], controller })
      routes.add({ name: 'any', path: '/any', controller })
      routes.add({ name: 'change', path: '/change', methods: ['PUT'], controller })
      routes.add({ name: 'thing', path: '/thing/:id', controller })
    },
  })
  const { status, text } = await client.get('/')
  t.equal(status, 404)
  for (const row of [
    /GET, POST<\/td>\s*<td class="path full"><a href="\/page"><code>\/page<\/code><\/a>/,
    /ANY<\/td>\s*<td class="path full"><a href="\/any"><code>\/any<\/code><\/a>/,
    /PUT<\/td>\s*<td class="path full"><code>\/change<\/code>/,
    /ANY<\/td>\s*<td class="path full"><code>\/thing\/:id<\/code>/,
  ]) {
    t.match(text, row)
  }
})

t.test('a program of its own, which has no console, is shown no commands', async t => {
  const { client: ofProgram } = await createProfiledKernel(t, { directory: t.testdir() })
  const { text } = await ofProgram.get('/')
  t.match(text, 'Write <code>routes.get(')
  t.notMatch(text, 'bin/console')
  t.notMatch((await ofProgram.get('/_profiler/cpu')).text, 'bin/console')
  const { client } = await createProfiledKernel(t)
  t.match((await client.get('/')).text, '<code>bin/console make:bundle home</code>')
  t.match((await client.get('/_profiler/cpu')).text, '<code>bin/console profiler:cpu</code>')
})

t.test('another path, error or client gets the error page', async t => {
  const { client } = await createProfiledKernel(t, {
    register({ dispatcher }) {
      const fail = ({ request }: RequestEvent) => {
        if (request.query.has('fails')) throw new Error('lost')
      }
      // Before the router.
      dispatcher.on(RequestEvent, fail, 100)
    },
  })
  t.match((await client.get('/')).text, 'Welcome to Sinfonietta')
  for (const answer of [await client.get('/nope'), await client.get('/?fails'), await client.get('/', foreign)]) {
    t.notMatch(answer.text, 'Welcome')
  }
})

t.test('the page for / welcomes a developer and lists the routes; other clients do not see them', async t => {
  const { client } = await createProfiledKernel(t)
  const welcome = await client.get('/')
  t.equal(welcome.status, 404)
  t.match(welcome.text, 'Welcome to Sinfonietta')
  t.match(welcome.text, JSON.parse(readFileSync('package.json', 'utf8')).version)
  t.match(welcome.text, '<a href="/star-photo-booth">')
  t.match(welcome.text, '/item{/:id}')
  t.match(welcome.text, /<span class="place" data-at="[^"]*docs\/guides\/first-page\.md:1:1">first-page\.md</)
  t.notMatch(welcome.text, 'data-profiler-toolbar', 'the toolbar would show an error')
  t.notMatch(welcome.text, '_profiler_home')
  t.notOk(welcome.headers.has('x-debug-exception'))
  const stranger = await client.get('/', foreign)
  t.equal(stranger.status, 404)
  t.notMatch(stranger.text, /Welcome|star-photo-booth/)
  t.equal((await client.post('/')).headers.has('x-debug-exception'), false)
})
