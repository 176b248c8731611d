import { symlinkSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { t } from 'tap'
import { createFileResponse } from '../../../lib/http/file-response.ts'
import { Request } from '../../../lib/http/request.ts'
import { StaticFiles } from '../../../lib/http/static-files.ts'

t.test('the files in and below a directory have paths below /assets; dot files and links have none', async t => {
  const directory = t.testdir({ 'site.css': 'a{}', '.secret': 'x', deep: { 'icon.svg': '<svg/>' } })
  symlinkSync('/etc/passwd', `${directory}/passwd`)
  const files = new StaticFiles()
  files.add('site', directory)
  t.equal(files.find('/assets/site/site.css'), `${directory}/site.css`)
  t.equal(files.find('/assets/site/deep/icon.svg'), `${directory}/deep/icon.svg`)
  for (const path of [
    '/assets/site/.secret',
    '/assets/site/passwd',
    '/assets/site/../x',
    '/assets/site/',
    '/assets/site/deep',
  ]) {
    t.equal(files.find(path), undefined, path)
  }
})

t.test('the URL of a file changes with its content, once the files are listed again', async t => {
  const directory = t.testdir({ 'a.css': 'one' })
  const files = new StaticFiles()
  files.add('site', directory)
  const first = files.url('site/a.css')
  t.match(first, /^\/assets\/site\/a\.css\?v=[0-9a-f]{8}$/)
  writeFileSync(`${directory}/a.css`, 'two')
  t.equal(files.url('site/a.css'), first)
  files.load()
  t.not(files.url('site/a.css'), first)
  t.equal(files.url('site/none.css'), undefined)
})

t.test('a file is sent with type, length and validators', async t => {
  const file = `${t.testdir({ 'a b%20.css': 'p { color: red }' })}/a b%20.css`
  const response = await createFileResponse(new Request({ target: '/' }), file, 'public, no-cache')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/css; charset=utf-8')
  t.equal(response.headers.get('content-length'), '16')
  t.equal(response.headers.get('cache-control'), 'public, no-cache')
  t.match(response.headers.get('etag'), /^W\/"/)
  t.ok(response.headers.has('last-modified'))
  t.equal(await text(response.body as Readable), 'p { color: red }')
})

t.test('conditions and ranges are honoured', async t => {
  const file = `${t.testdir({ 'a.txt': '0123456789' })}/a.txt`
  const ask = (headers: Record<string, string>, method = 'GET') =>
    createFileResponse(new Request({ target: '/', headers, method }), file, 'public, no-cache')
  const etag = (await ask({})).headers.get('etag') ?? ''
  const unchanged = await ask({ 'If-None-Match': etag })
  t.equal(unchanged.status, 304)
  t.equal(unchanged.headers.get('cache-control'), 'public, no-cache')
  const part = await ask({ range: 'bytes=2-4' })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 2-4/10')
  t.equal(await text(part.body as Readable), '234')
  t.equal((await ask({ range: 'bytes=20-' })).status, 416)
  const head = await ask({}, 'HEAD')
  t.equal(head.headers.get('content-length'), '10')
  t.equal(await text(head.body as Readable), '')
})

t.test('a file that is gone is a 404 that may not be kept', async t => {
  const response = await createFileResponse(new Request({ target: '/' }), `${t.testdir()}/gone.css`, 'public')
  t.equal(response.status, 404)
  t.notOk(response.headers.has('cache-control'))
})
