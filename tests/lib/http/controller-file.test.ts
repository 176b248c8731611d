import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import {
  contentDisposition,
  createFileResponse,
  type FileResponseOptions,
  removeFiles,
} from '#lib/http/file-response.ts'
import type { Response } from '#lib/http/response.ts'

const ask = (headers: Record<string, string> = {}, method = 'GET') => new Request({ target: '/', headers, method })
const read = ({ body }: Response) => text(body as Readable)

function createFolder(t: Test): string {
  const folder = t.testdir({ 'report.pdf': 'a report', '.env': 'SECRET=1', 'empty.txt': '' })
  mkdirSync(`${folder}/inner`)
  writeFileSync(`${folder}/inner/note.txt`, 'a note')
  return folder
}

t.test('a file is sent with its type, name and validators', async t => {
  const file = `${createFolder(t)}/report.pdf`
  const response = await createFileResponse(ask(), file)
  const { etag, 'last-modified': modified, ...headers } = Object.fromEntries(response.headers)
  t.strictSame(headers, {
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="report.pdf"',
    'accept-ranges': 'bytes',
    'content-length': '8',
  })
  t.match(etag, /^"[0-9a-f]+-8"$/)
  t.match(modified, /GMT$/)
  t.equal(await read(response), 'a report')
  t.strictSame([response.file, response.isTemporary], [file, false])
  const named = await createFileResponse(ask(), file, { name: 'Größe.txt', disposition: 'inline' })
  t.equal(named.headers.get('content-type'), 'text/plain; charset=UTF-8')
  t.equal(
    named.headers.get('content-disposition'),
    `inline; filename="Gr__e.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt`,
  )
})

t.test('conditions, ranges and HEAD', async t => {
  const file = `${createFolder(t)}/report.pdf`
  const send = (headers?: Record<string, string>, method?: string) => createFileResponse(ask(headers, method), file)
  const etag = String((await send()).headers.get('etag'))
  const unchanged = await send({ 'if-none-match': etag })
  t.strictSame([unchanged.status, unchanged.body], [304, null])
  t.equal((await send({ 'if-match': '"other"' })).status, 412)
  const part = await send({ range: 'bytes=2-4', 'if-range': etag })
  t.strictSame([part.status, part.headers.get('content-range'), await read(part)], [206, 'bytes 2-4/8', 'rep'])
  t.equal((await send({ range: 'bytes=99-' })).status, 416)
  const head = await send({}, 'HEAD')
  t.strictSame([head.status, head.headers.get('content-length'), await read(head)], [200, '8', ''])
})

t.test('a method that asks for no content gets no 304 and no ranges, and 412 if the file may not exist', async t => {
  const file = `${createFolder(t)}/report.pdf`
  const send = (headers: Record<string, string>, method: string) => createFileResponse(ask(headers, method), file)
  const etag = String((await send({}, 'GET')).headers.get('etag'))
  const rows: readonly [headers: Record<string, string>, status: number][] = [
    [{}, 200],
    [{ 'if-none-match': etag }, 412],
    [{ 'if-none-match': `W/${etag}` }, 412],
    [{ 'if-none-match': '*' }, 412],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }, 200],
    [{ 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }, 412],
    [{ range: 'bytes=2-4' }, 200],
    [{ range: 'bytes=99-' }, 200],
    [{ range: 'bytes=2-4', 'if-range': etag }, 200],
  ]
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const responses = await Promise.all(rows.map(([headers]) => send(headers, method)))
    t.strictSame(
      rows.map(([headers], at) => [headers, responses[at]?.status]),
      rows,
      method,
    )
    const hasRanges = responses.filter(({ headers }) => headers.has('accept-ranges') || headers.has('content-range'))
    t.strictSame(hasRanges, [], method)
  }
  t.equal((await send({}, 'HEAD')).headers.get('accept-ranges'), 'bytes')
})

t.test('with a root, no path leads out of it', async t => {
  const folder = createFolder(t)
  const root = `${folder}/inner`
  symlinkSync(`${folder}/report.pdf`, `${root}/out.pdf`)
  symlinkSync('note.txt', `${root}/same.txt`)
  // The path of this folder begins with that of the root.
  mkdirSync(`${root}-of-others`)
  writeFileSync(`${root}-of-others/secret.txt`, 'a secret')
  symlinkSync(`${root}-of-others`, `${root}/sibling`)
  const send = (file: string, options: FileResponseOptions = { root }) => createFileResponse(ask(), file, options)
  t.equal(await read(await send('note.txt')), 'a note')
  t.equal(await read(await send('/note.txt')), 'a note', 'an absolute path is one in the folder')
  t.equal(await read(await send('same.txt')), 'a note')
  t.equal(await read(await send('inner/note.txt', { root: folder })), 'a note')
  for (const file of [
    '../report.pdf',
    'x/../../report.pdf',
    '..\\report.pdf',
    'out.pdf',
    'sibling/secret.txt',
    '../inner-of-others/secret.txt',
    `${folder}/report.pdf`,
    'nothing.txt',
    'a\0b',
    '',
    '.',
  ]) {
    await t.rejects(send(file), { code: 'HTTP_FILE_MISSING' }, JSON.stringify(file))
  }
  await t.rejects(send('.env', { root: folder }), { code: 'HTTP_FILE_MISSING' })
  await t.rejects(send('inner', { root: folder }), { code: 'HTTP_FILE_MISSING' }, 'a folder')
  await t.rejects(send('note.txt', { root: `${folder}/nowhere` }), { code: 'HTTP_FILE_MISSING' })
  await t.rejects(send(`${folder}/nothing`, {}), { message: 'There is no file "nothing".' })
})

t.test('a temporary file is sent as a whole, and deleted with its main request', async t => {
  const folder = createFolder(t)
  const [file, other] = [`${folder}/report.pdf`, `${folder}/inner/note.txt`]
  const request = ask({ range: 'bytes=2-4', 'if-none-match': '*' })
  const response = await createFileResponse(request, file, { deleteAfterSending: true })
  await createFileResponse(request.duplicate(), other, { deleteAfterSending: true })
  await createFileResponse(request, `${folder}/empty.txt`, { deleteAfterSending: true })
  t.equal(response.status, 200)
  t.strictSame([...response.headers.toRaw()].slice(2), [
    'content-disposition',
    'attachment; filename="report.pdf"',
    'content-length',
    '8',
  ])
  t.equal(await read(response), 'a report')
  t.ok(existsSync(file) && existsSync(other))
  await removeFiles(request)
  t.notOk(existsSync(file) || existsSync(other))
  await removeFiles(request)
})

t.test('the name of a file in Content-Disposition', async t => {
  const vectors: Readonly<Record<string, string>> = {
    'plans.pdf': 'filename="plans.pdf"',
    'a b;c,d.txt': 'filename="a b;c,d.txt"',
    'a"b.txt': `filename="a_b.txt"; filename*=UTF-8''a%22b.txt`,
    '50%25.txt': `filename="50_25.txt"; filename*=UTF-8''50%2525.txt`,
    '€ rates.txt': `filename="_ rates.txt"; filename*=UTF-8''%E2%82%AC%20rates.txt`,
    "naïve (1)'*.txt": `filename="na_ve (1)'*.txt"; filename*=UTF-8''na%C3%AFve%20%281%29%27%2A.txt`,
    'a\r\nSet-Cookie: x=1.txt': 'filename="a__Set-Cookie: x=1.txt"',
    '../../etc/passwd': 'filename="passwd"',
    'C:\\temp\\a.txt': 'filename="a.txt"',
    'invoice\u202efdp.exe': 'filename="invoice_fdp.exe"',
    '\ud800.txt': `filename="_.txt"; filename*=UTF-8''%EF%BF%BD.txt`,
    '..': 'filename="file"',
    '': 'filename="file"',
  }
  for (const [name, expected] of Object.entries(vectors)) {
    t.equal(contentDisposition(name), `attachment; ${expected}`, JSON.stringify(name))
  }
  t.equal(contentDisposition('a.txt', 'inline'), 'inline; filename="a.txt"')
})
