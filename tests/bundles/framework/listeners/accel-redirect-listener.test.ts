import { existsSync, symlinkSync } from 'node:fs'
import { createFrameworkBundle, ResponseEvent } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { createFileResponse } from '#lib/http/file-response.ts'
import { Response } from '#lib/http/response.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { openConnection, serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

t.test('nginx gets the path of a file in a listed folder, and makes the headers of the file', async t => {
  const directory = t.testdir({ up: { 'Größe 1.txt': 'a note', b: { 'c.pdf': 'x' } }, other: { 'd.txt': 'own' } })
  symlinkSync(`${directory}/up`, `${directory}/link`)
  const bundle = createHandlerBundle({
    '/note': request => createFileResponse(request, 'Größe 1.txt', { root: `${directory}/up` }),
    '/inner': request => createFileResponse(request, `${directory}/up/b/c.pdf`, { disposition: 'inline' }),
    '/other': request => createFileResponse(request, `${directory}/other/d.txt`),
    '/once': request => createFileResponse(request, `${directory}/up/b/c.pdf`, { deleteAfterSending: true }),
    '/gone': async request => {
      const response = await createFileResponse(request, `${directory}/other/d.txt`)
      return Object.assign(response, { file: `${directory}/none` })
    },
    '/text': () => Response.text('text'),
  })
  const variables = { ACCEL_REDIRECT: `${directory}/none/=/_none, link=/_files/up/` }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle], directory, variables })
  t.teardown(close)
  const note = await client.get('/note')
  t.equal(note.headers.get('x-accel-redirect'), '/_files/up/Gr%C3%B6%C3%9Fe%201.txt')
  t.equal(note.headers.get('content-type'), 'text/plain; charset=UTF-8')
  t.match(note.headers.get('content-disposition'), /^attachment; /)
  for (const name of ['etag', 'last-modified', 'accept-ranges', 'content-length']) t.notOk(note.headers.has(name), name)
  t.equal(note.text, '')
  for (const headers of [
    { range: 'bytes=9-' },
    { 'if-match': '"x"' },
    { 'if-modified-since': 'Sat, 21 Nov 2037 00:00:00 GMT' },
  ]) {
    const { headers: answered, status } = await client.get('/inner', { headers })
    t.strictSame([status, answered.get('x-accel-redirect')], [200, '/_files/up/b/c.pdf'])
    t.equal(answered.get('content-type'), 'application/pdf')
  }
  const posted = await client.post('/inner', { headers: { 'if-none-match': '*' } })
  t.strictSame([posted.status, posted.headers.get('x-accel-redirect')], [412, null], 'nginx would answer it as a GET')
  for (const path of ['/other', '/once', '/text', '/gone']) {
    const { headers, text } = await client.get(path)
    t.notOk(headers.has('x-accel-redirect'), path)
    t.not(text, '')
  }
})

t.test('a wrong list of folders stops the start', async t => {
  for (const value of ['var/uploads', 'var/uploads=_uploads', '=/_uploads', 'var/uploads=/', '/=/_uploads']) {
    const booting = createTestKernel({ bundles: [createFrameworkBundle()], variables: { ACCEL_REDIRECT: value } })
    await t.rejects(booting, { message: /ACCEL_REDIRECT[\s\S]*var\/uploads=\/_uploads/ }, value)
  }
})

t.test('a temporary file is deleted if the client leaves, and if another response takes its place', async t => {
  const directory = t.testdir({ 'left.txt': 'x'.repeat(9_000_000), 'replaced.txt': 'x', 'headed.txt': 'x' })
  const options = { deleteAfterSending: true }
  const bundle = createHandlerBundle({
    '/left': request => createFileResponse(request, `${directory}/left.txt`, options),
    '/replaced': request => createFileResponse(request, `${directory}/replaced.txt`, options),
    '/headed': request => createFileResponse(request, `${directory}/headed.txt`, options),
  })
  const { app, client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle], directory })
  t.teardown(close)
  app.dispatcher.on(ResponseEvent, event => {
    if (event.request.path === '/replaced') event.response = Response.text('other')
  })
  t.equal((await client.get('/replaced')).text, 'other')
  t.notOk(existsSync(`${directory}/replaced.txt`))
  t.equal((await client.request('HEAD', '/headed')).text, '')
  t.notOk(existsSync(`${directory}/headed.txt`))
  const { port } = await serveKernel(t, { app })
  const { socket } = openConnection(port)
  socket.write('GET /left HTTP/1.1\r\nHost: localhost\r\n\r\n')
  socket.once('data', () => socket.destroy())
  await until(() => !existsSync(`${directory}/left.txt`))
})
