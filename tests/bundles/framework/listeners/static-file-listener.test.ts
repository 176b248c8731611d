import { rmSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { StaticFileListener } from '#bundles/framework/listeners/request-listeners.ts'
import { Response } from '#lib/http/response.ts'
import { StaticFiles } from '#lib/http/static-files.ts'

t.test('a request for a file is answered with it; with its version it may be kept for ever', async t => {
  const files = new StaticFiles()
  files.add('site', t.testdir({ 'a.css': 'a{}' }))
  const listener = new StaticFileListener(files)
  const cacheControl = async (target: string) => {
    const event = createRequestEvent({ request: createRequest(target) })
    await listener.onRequest(event)
    t.ok(event.isPropagationStopped)
    t.equal(await text(event.response?.body as Readable), 'a{}')
    return event.response?.headers.get('cache-control')
  }
  t.equal(await cacheControl(files.url('site/a.css') ?? ''), 'public, max-age=31536000, immutable')
  t.equal(await cacheControl('/assets/site/a.css'), 'public, no-cache')
  t.equal(await cacheControl('/assets/00000000/site/a.css'), 'public, no-cache')
})

t.test('other paths and other methods are left to the router', async t => {
  const files = new StaticFiles()
  files.add('site', t.testdir({ 'a.css': 'a{}' }))
  const listener = new StaticFileListener(files)
  for (const request of [
    createRequest('/assets/site/b.css'),
    createRequest('/assets/site/a.css', { method: 'POST' }),
  ]) {
    const event = createRequestEvent({ request })
    t.equal(listener.onRequest(event), undefined)
    t.equal(event.response, undefined)
  }
  const head = createRequestEvent({ request: createRequest('/assets/site/a.css', { method: 'HEAD' }) })
  await listener.onRequest(head)
  t.equal(head.response?.status, 200)
})

t.test('a file that is gone since is left to the router', async t => {
  const directory = t.testdir({ 'a.css': 'a{}' })
  const files = new StaticFiles()
  files.add('site', directory)
  rmSync(`${directory}/a.css`)
  const event = createRequestEvent({ request: createRequest('/assets/site/a.css') })
  await new StaticFileListener(files).onRequest(event)
  t.equal(event.response, undefined)
})

t.test('a file has the methods GET and HEAD, and a route at its path has its own', async t => {
  const bundle: Bundle = {
    name: 'lab',
    register({ files, routes }) {
      files.add('lab', t.testdir({ 'a.css': 'a{}' }))
      routes.post('upload', '/assets/lab/upload', () => Response.text('taken'))
      files.addPublic(t.testdir({ 'a.css': 'a{}', 'robots.txt': '' }))
      routes.post('robots', '/robots.txt', () => Response.text('taken'))
    },
  }
  const { app, client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  t.teardown(close)
  const ask = async (method: string, target: string) => {
    const { headers, status } = await client.request(method, target)
    return [status, headers.get('allow')]
  }
  const asset = String(app.files.url('lab/a.css'))
  const refused = ['POST', 'PUT', 'DELETE', 'PATCH'].flatMap(method =>
    [asset, '/assets/lab/a.css', '/a.css'].map(at => [method, at]),
  )
  t.strictSame(
    await Promise.all(refused.map(([method = '', target = '']) => ask(method, target))),
    refused.map(() => [405, 'GET, HEAD']),
  )
  t.strictSame(await ask('POST', '/assets/lab/none.css'), [404, null])
  t.strictSame(await ask('POST', '/robots.txt'), [200, null])
  t.strictSame(await ask('GET', '/robots.txt'), [200, null])
})

for (const environment of ['dev', 'prod']) {
  t.test(`in ${environment} hidden files and backups are not found, whatever stands before their names`, async t => {
    const assets = t.testdir({ 'a.css': 'a{}', 'a.css~': 'secret', '.git': { config: 'secret' } })
    const bundle: Bundle = { name: 'lab', register: app => app.files.add('lab', assets) }
    const variables = { APP_ENV: environment }
    const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle], variables })
    t.teardown(close)
    for (const prefix of ['/assets/lab', '/assets/00000000/lab']) {
      t.equal((await client.get(`${prefix}/a.css`)).text, 'a{}')
      for (const name of ['a.css~', '.git/config', '%2egit/config']) {
        const response = await client.get(`${prefix}/${name}`)
        t.equal(response.status, 404)
        t.notOk(response.text.includes('secret'))
      }
    }
  })
}
