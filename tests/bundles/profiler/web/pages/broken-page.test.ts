import path from 'node:path'
import { t } from 'tap'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'

const html = { accept: 'text/html' }

t.test('files that cannot be used are shown with their source, and lead back when they are corrected', async t => {
  const directory = createProject(t.testdir(), { 'bundles/a.ts': 'const one = 1\n\tconst two = <three>\n' })
  const { app, client } = await createProfiledKernel(t, { directory })
  const link = '/_profiler/broken?page=%2Fshop%3Fa%3D1'
  t.equal((await client.get(link)).headers.get('location'), '/shop?a=1')
  const file = path.join(directory, 'bundles/a.ts')
  const problems = [
    { message: 'Expected <x>.', file, line: 2, column: 14 },
    { message: 'The settings are wrong.' },
    { message: 'Gone.', file: path.join(directory, 'gone.ts'), line: 1, column: 1 },
  ]
  app.signals.emit('sources.broken', { problems, served: 'older' })
  const page = await client.get(link, { headers: html })
  t.equal(page.status, 200)
  t.match(page.text, /older than your files<\/strong> 3 mistakes/)
  t.match(
    page.text,
    /<h1 class="long">Expected &lt;x&gt;\.<\/h1>\s*<p>\s*<span class="place" data-at="14">bundles\/a\.ts:2/,
  )
  t.match(page.text, /<mark class="line[^>]*>.*\t {12}\^/, 'below the column')
  t.match(page.text, /<summary>The settings are wrong\. <small><\/small>/)
  t.match(page.text, '<a href="/shop?a&#x3D;1">Back to the page</a>')
  t.match(page.headers.get('x-sources'), /^[\da-f]{12}$/)
  t.match(page.text, `data-sources="${page.headers.get('x-sources')}"`)
  app.signals.emit('sources.broken', { problems: problems.slice(1), served: 'older' })
  t.not((await client.request('HEAD', link)).headers.get('x-sources'), page.headers.get('x-sources'))
  app.signals.emit('sources.broken', { problems: problems.slice(1), served: 'current' })
  t.match(
    (await client.get(link, { headers: html })).text,
    /<\/strong> 2 type errors/,
    'the application runs with them',
  )
  app.signals.emit('sources.broken', { problems: [], served: 'older' })
  t.equal((await client.get(link)).status, 302)
})

t.test('without a running application, the page is a 503, and has no way back', async t => {
  const { app, client } = await createProfiledKernel(t)
  app.signals.emit('sources.broken', { problems: [{ message: 'no' }], served: 'nothing' })
  const page = await client.get('/_profiler/broken', { headers: html })
  t.match(page, { status: 503, text: /The application does not run<\/strong> 1 mistake/ })
  t.notMatch(page.text, 'Back to the page')
})

t.test('programs get the mistakes as data', async t => {
  const { app, client } = await createProfiledKernel(t)
  const file = path.join(app.directory, 'bundles/a.ts')
  app.signals.emit('sources.broken', {
    problems: [{ message: 'no', file, line: 3 }, { message: '<b>' }],
    served: 'nothing',
  })
  const get = async (accept: string) => client.get('/_profiler/broken', { headers: { accept } })
  const json = await get('application/json')
  t.equal(json.status, 503)
  const mistakes = [
    { message: 'no', place: 'bundles/a.ts:3' },
    { message: '<b>', place: '' },
  ]
  t.same(json.json(), { title: 'The application does not run', mistakes })
  t.match(await get('text/markdown'), {
    status: 503,
    text: '# The application does not run\n\n- bundles/a.ts:3: no\n- <b>\n',
  })
})

t.test('it leads to a page of this origin only', async t => {
  const { client } = await createProfiledKernel(t)
  for (const page of ['//evil.example', '/\\evil.example', '/\t/evil.example', 'https://evil.example', '']) {
    const { headers } = await client.get(`/_profiler/broken?page=${encodeURIComponent(page)}`)
    t.equal(headers.get('location'), '/_profiler/', page)
  }
  t.equal((await client.get('/_profiler/broken')).headers.get('location'), '/_profiler/')
})

t.test('the toolbar names the files: the page is older than they are', async t => {
  const { app, client } = await createProfiledKernel(t)
  const token = (await client.get('/partnership')).headers.get('x-debug-token')
  const problems = [{ message: 'Expected ;', file: path.join(app.directory, 'bundles/a.ts'), line: 7, column: 1 }]
  t.notMatch((await client.get(`/_wdt/${token}`)).text, 'toolbar-item-build')
  app.signals.emit('sources.broken', { problems, served: 'older' })
  const { text } = await client.get(`/_wdt/${token}`)
  t.match(
    text,
    /toolbar-item-build[\s\S]*1 mistake[\s\S]*bundles\/a\.ts:7 Expected ;[\s\S]*This page is older than your files\./,
  )
  t.match(text, 'href="/_profiler/broken?page&#x3D;%2Fpartnership"')
})
