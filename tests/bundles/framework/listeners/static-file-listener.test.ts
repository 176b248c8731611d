import { rmSync } from 'node:fs'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'

/** A kernel with the files of a folder. */
async function serveFiles(t: Test, directory: string) {
  const bundle: Bundle = { name: 'own', register: ({ files }) => files.add('own', directory) }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  t.teardown(kernel.close)
  return kernel
}

t.test('a request for a file is answered with it; with its version it may be kept for ever', async t => {
  const { app, client } = await serveFiles(t, t.testdir({ 'a.css': 'a{}' }))
  const cacheControl = async (target: string) => {
    const { headers, text } = await client.get(target)
    t.equal(text, 'a{}')
    return headers.get('cache-control')
  }
  t.equal(await cacheControl(app.files.url('own/a.css') ?? ''), 'public, max-age=31536000, immutable')
  t.equal(await cacheControl('/assets/own/a.css'), 'public, no-cache')
  t.equal(await cacheControl('/assets/00000000/own/a.css'), 'public, no-cache')
})

t.test('other paths and files that are gone are left to the router', async t => {
  const directory = t.testdir({ 'a.css': 'a{}' })
  const { client } = await serveFiles(t, directory)
  t.equal((await client.get('/assets/own/b.css')).status, 404)
  t.equal((await client.request('HEAD', '/assets/own/a.css')).status, 200)
  rmSync(`${directory}/a.css`)
  t.equal((await client.get('/assets/own/a.css')).status, 404)
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
