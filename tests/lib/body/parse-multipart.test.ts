import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { UploadedFile } from '#lib/body/form-data.ts'
import { RequestBody } from '#lib/body/request-body.ts'

interface Sent {
  readonly name: string
  readonly fileName?: string | undefined
  readonly type?: string
  readonly content: Uint8Array
}

const contentType = 'multipart/form-data; boundary=line'

t.test('a form comes back as it was sent, wherever its bytes are cut', async t => {
  const directory = t.testdir()
  // What looks like a delimiter, and is not one, is likely.
  const lookalike = fc.constantFrom('\r\n', '--', '--lin', '\r\n--lin', '\n--line', '-', '\r', '\0', 'line')
  const content = fc
    .array(
      fc.oneof(
        lookalike.map(text => Buffer.from(text)),
        fc.uint8Array({ maxLength: 40 }),
      ),
      { maxLength: 8 },
    )
    .map(pieces => Buffer.concat(pieces))
    .filter(bytes => !bytes.includes('\r\n--line'))
  const name = fc.string({ unit: 'grapheme', maxLength: 12 })
  const plain = { noNullPrototype: true }
  const text = fc.record({ name, content: fc.string({ unit: 'grapheme' }).map(value => Buffer.from(value)) }, plain)
  const file = fc.record({ name, fileName: fc.constantFrom('', 'a.txt', 'ü "1".png'), content }, plain)
  const form = fc.array(fc.oneof(text, file), { maxLength: 6 })

  const bodies: RequestBody[] = []
  const property = fc.asyncProperty(form, fc.array(fc.nat(60), { minLength: 1 }), async (parts: Sent[], cuts) => {
    const body = bodyOf(slice(encode(parts), cuts), directory)
    bodies.push(body)
    const form = await body.formData()
    const received = await Promise.all(
      Array.from(form, async ([name, value]): Promise<Sent> => {
        if (typeof value === 'string') return { name, content: Buffer.from(value) }
        const content = await readFile(value.path)
        assert.equal(value.size, content.length)
        return { name, fileName: value.name, content }
      }),
    )
    assert.deepEqual(received, parts)
  })
  await t.resolves(fc.assert(property, { numRuns: 200 }))
  for (const body of bodies) await body.dispose()
  t.strictSame(await readdir(directory), [])
})

t.test('reading ends for any body, and leaves no files behind', async t => {
  const directory = t.testdir()
  const piece = fc.constantFrom(
    ...['--line', '--line--', '\r\n', '\r\n', '\r\n\r\n', '\n', '-', 'Content-Disposition: form-data', '; name="a"'],
    ...['; filename="b"', 'Content-Type: text/plain', 'x'.repeat(20_000), '"', '\\', '\xff'],
    '\r\n--line\r\nContent-Disposition: form-data; name="a"\r\n\r\n',
    '\r\n--line\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n',
  )
  const sent = fc.array(piece, { maxLength: 14 }).map(pieces => Buffer.from(`--line\r\n${pieces.join('')}`, 'latin1'))
  const property = fc.asyncProperty(sent, fc.array(fc.nat(9000), { minLength: 1 }), async (bytes, cuts) => {
    const body = bodyOf(slice(bytes, cuts), directory, { files: 2, fields: 3, bytes: 30_000, multipartBytes: 90_000 })
    await body.formData().catch(error => assert.ok(error.status === 400 || error.status === 413, error))
    await body.dispose()
    assert.deepEqual(await readdir(directory), [])
  })
  await t.resolves(fc.assert(property, { numRuns: 300 }))
})

t.test('a damaged form is accepted or refused exactly as by a slow and obvious parser', async t => {
  const directory = t.testdir()
  const name = fc.string({ unit: 'grapheme', maxLength: 5 })
  const content = fc
    .array(fc.constantFrom('x', 'ü', '\r\n', '--', '--line', '\n', ' '), { maxLength: 8 })
    .map(pieces => Buffer.from(pieces.join('')))
  const fileName = fc.constantFrom(undefined, 'a.txt', '')
  const parts = fc.array(fc.record({ name, fileName, content }, { noNullPrototype: true }), { maxLength: 4 })
  const damage = fc.constantFrom('cut', 'drop', 'flip', 'repeat', 'break', 'blank')
  const form = fc.tuple(parts, fc.array(fc.tuple(fc.nat(), damage), { maxLength: 2 }))
  const count = { accepted: 0, refused: 0 }
  const property = fc.asyncProperty(form, fc.array(fc.nat(60), { minLength: 1 }), async ([parts, damages], cuts) => {
    const bytes = damages.reduce((sent, [place, how]) => inflict(sent, place % (sent.length + 1), how), encode(parts))
    const body = bodyOf(slice(bytes, cuts), directory)
    const received = body.formData().then(
      form => Array.from(form, ([name, value]) => [name, typeof value === 'string' ? value : value.size]),
      error => error.status,
    )
    const expected = parseSlowly(bytes)
    assert.deepEqual(await received, expected, JSON.stringify(bytes.toString()))
    count[expected === 400 ? 'refused' : 'accepted']++
    await body.dispose()
  })
  await t.resolves(fc.assert(property, { numRuns: 500 }))
  t.ok(count.accepted > 50 && count.refused > 50, JSON.stringify(count))
})

t.test('a file lies under a random name that only this user can read, and may be kept elsewhere', async t => {
  const directory = t.testdir()
  const body = bodyOf(
    [encode([{ name: 'f', fileName: '../../évil.PNG', type: 'Image/PNG', content: Buffer.from('content') }])],
    directory,
  )
  const file = (await body.formData()).get('f')
  if (!(file instanceof UploadedFile)) throw new Error('not a file')

  t.hasStrict(file, { name: 'évil.PNG', type: 'image/png', size: 7 })
  const inside = path.relative(directory, file.path).split(path.sep)
  t.match(inside, [/^sinfonietta-upload-\w{6}$/, /^[0-9a-f-]{36}$/])
  t.equal((await stat(file.path)).mode & 0o777, 0o600)
  t.equal((await stat(path.dirname(file.path))).mode & 0o777, 0o700)

  const kept = path.join(directory, 'target', 'new', 'kept')
  await file.saveAs(kept)
  const refused = { code: 'ARGUMENT_INVALID', message: /is a folder: add a name/ }
  for (const folder of [`${path.dirname(kept)}/`, path.dirname(kept)]) await t.rejects(file.saveAs(folder), refused)
  const before = process.cwd()
  process.chdir(directory)
  const warned = once(process, 'warning')
  await file.saveAs('public/picture.png')
  process.chdir(before)
  t.match(await warned, [{ message: /^file\.saveAs\(\) writes into public\/, whose files are listed at the start/ }])
  await rm(path.join(directory, 'public'), { recursive: true })
  await body.dispose()
  await t.rejects(file.saveAs(kept), { code: 'ARGUMENT_INVALID', message: /await saveAs\(\) before the response/ })
  t.equal(await readFile(kept, 'utf8'), 'content')
  t.strictSame(await readdir(directory), ['target'])
  await t.resolves(Promise.resolve(body.dispose()), 'again')
})

t.test('file names are text without a path and without invisible characters', async t => {
  const names = {
    'filename="C:\\dir\\photo.jpg"': 'photo.jpg',
    'filename="C:\\\\dir\\\\photo.jpg"': 'photo.jpg',
    'filename="C:\\dir\\"': '',
    'filename="/etc/passwd"': 'passwd',
    'filename=".."': '',
    'filename="a/.\0."': '',
    'filename="a%0D%0A%22b%22\x1b\u202egnp.exe"': 'a"b"gnp.exe',
    'filename="say \\"hi\\".txt"': 'say "hi".txt',
    'filename=token.txt': 'token.txt',
    'filename=""': '',
    'FILENAME="a";': 'a',
    'filename="_"; filename*=UTF-8\'\'..%2f..%2fna%C3%AFve.txt': 'naïve.txt',
  }
  for (const [parameter, expected] of Object.entries(names)) {
    const body = bodyOf([part(`Content-Disposition: form-data; name="f"; ${parameter}`), last], t.testdir())
    const file = (await body.formData()).get('f')
    if (!(file instanceof UploadedFile)) throw new Error('not a file')
    const { name, type, size } = file
    t.strictSame({ name, type, size }, { name: expected, type: 'text/plain', size: 1 }, parameter)
    await body.dispose()
  }
})

t.test('names of fields stay as they are; names that browsers escape are decoded', async t => {
  for (const [sent, expected] of [
    ['a[b][c]', 'a[b][c]'],
    ['__proto__', '__proto__'],
    ['', ''],
    ['a\\', 'a\\'],
    ['a\\\\b\\\\', 'a\\\\b\\\\'],
    ['a\\"b', 'a"b'],
    ['%22a%22%0D%0A%20', '"a"\r\n%20'],
  ] as const) {
    const body = bodyOf([part(`content-DISPOSITION:form-data ;name="${sent}"`), last], t.testdir())
    t.strictSame([...(await body.formData())], [[expected, 'x']])
  }
})

t.test('text before the first and after the last delimiter is ignored', async t => {
  const whole = encode([{ name: 'a', content: Buffer.from('1') }])
  const body = bodyOf(
    [Buffer.from('preamble\r\n'), whole, Buffer.from('\r\n--line\r\n'), Buffer.from('more')],
    t.testdir(),
  )
  t.strictSame([...(await body.formData())], [['a', '1']])
})

t.test('blanks after a boundary and folded headers are accepted, wherever they are cut', async t => {
  const sent = [
    '--line \t\r\nContent-Disposition: form-data;\r\n name="a b";\r\n\tfilename="c\r\n d"\r\n',
    'Content-Type:\r\n text/plain\r\n \r\n\r\nx\r\n--line\t\r\nContent-Disposition: form-data; name="e"\r\n\r\ny\r\n--line-- ',
  ].join('')
  for (const size of [1, 2, 3, 7, 200_000]) {
    const body = bodyOf([...slice(Buffer.from(`${' '.repeat(70_000)}\r\n${sent}`), [size])], t.testdir())
    const form = await body.formData()
    t.hasStrict(form.get('a b'), { name: 'c d', size: 1 })
    t.equal(form.get('e'), 'y')
    await body.dispose()
  }
  const padded = `--line${' \t'.repeat(70_000)}\r\n${head('a')}\r\n\r\nx${last}`
  t.strictSame([...(await bodyOf(slice(Buffer.from(padded), [40_000]), t.testdir()).formData())], [['a', 'x']])
})

t.test('a form without any part is an empty form', async t => {
  t.strictSame([...(await bodyOf([Buffer.from('--line--')], t.testdir()).formData())], [])
})

t.test('a malformed form is refused, with the reason', async t => {
  const fieldHead = 'Content-Disposition: form-data; name="a"'
  const malformed: [string, RegExp][] = [
    ['nothing', /ends before its last boundary/],
    [`${part(fieldHead)}`, /ends before its last boundary/],
    [`--line\r\n${fieldHead}`, /ends before its last boundary/],
    ['--line\r\n\r\nx\r\n\r\n', /a part has a malformed header/],
    [`${part(` folded\r\n${fieldHead}`)}${last}`, /malformed header/],
    [`${part(`${fieldHead}\r\n: no name`)}${last}`, /malformed header/],
    [`${part(`${fieldHead}\r\nX: a\nY: b`)}${last}`, /malformed header/],
    [`${part(`${fieldHead}\r\n${fieldHead}`)}${last}`, /malformed header/],
    [`${part('X: y')}${last}`, /a part has no name/],
    [`${part('Content-Disposition: attachment; name="a"')}${last}`, /no name/],
    [`${part('Content-Disposition: form-data')}${last}`, /no name/],
    [`${part('Content-Disposition: form-data; filename="a"')}${last}`, /no name/],
    [`${part('Content-Disposition: form-data; name="a')}${last}`, /no name/],
    [`${part('Content-Disposition: form-data; name="a"; name="b"')}${last}`, /no name/],
    [`${part(`${fieldHead}${'abcdefghij'.replace(/./g, '; $&=1')}`)}${last}`, /no name/],
    [`${part(`${fieldHead}; filename*=UTF-8''%ff`)}${last}`, /file name has escaped bytes/],
    [`${part('Content-Disposition: form-data; name="a\\"b')}${last}`, /no name/],
    [`${part(fieldHead)}\r\n--linear\r\n${last}`, /a boundary is followed by neither CRLF nor --/],
    [`${part(fieldHead)}\r\n--line --`, /a boundary is followed by neither CRLF nor --/],
    [`${part(fieldHead)}\r\n--line \n${last}`, /a boundary is followed by neither CRLF nor --/],
    [`${part(fieldHead)}\r\n--line \t`, /ends before its last boundary/],
    [`${part(fieldHead)}\r\n--line-`, /ends before its last boundary/],
    [`${part(fieldHead)}\r\n--line`, /ends before its last boundary/],
    [`${part(fieldHead)}${last}`.replaceAll('\r\n', '\n'), /neither CRLF nor --/],
    [part(`${fieldHead}\r\nX: ${'y'.repeat(8192)}`), /headers of a part are larger than 8192 bytes/],
    [`--line\r\n${'y'.repeat(8200)}`, /headers of a part are larger than 8192 bytes/],
  ]
  for (const [sent, message] of malformed) {
    const body = bodyOf([Buffer.from(sent)], t.testdir())
    await t.rejects(
      body.formData(),
      { code: 'BODY_FORM_INVALID', status: 400, message },
      JSON.stringify(sent.slice(0, 99)),
    )
  }
})

t.test('a content type without a usable boundary is refused', async t => {
  const types = [
    '',
    ';',
    '; boundary',
    '; boundary=',
    '; charset=utf-8',
    `; boundary=${'x'.repeat(71)}`,
    '; boundary=""',
  ]
  for (const parameters of types) {
    const body = new RequestBody({ stream: Readable.from([]), contentType: `multipart/form-data${parameters}` })
    await t.rejects(body.formData(), { code: 'BODY_FORM_INVALID', message: /boundary/ }, parameters)
  }
})

t.test('a boundary has up to 70 characters', async t => {
  const parse = (boundary: string) => {
    const stream = Readable.from([Buffer.from(`--${boundary}--`)])
    return new RequestBody({ stream, contentType: `multipart/form-data; boundary="${boundary}"` }).formData()
  }
  t.strictSame([...(await parse('x'.repeat(70)))], [])
  await t.rejects(parse('x'.repeat(71)), {
    status: 400,
    message: 'The request body is not a valid form: its boundary is longer than 70 characters.',
  })
  await t.rejects(parse(''), { status: 400, message: 'The request body is not a valid form: its boundary is empty.' })
})

t.test('text that is not UTF-8 is refused, in names and in values', async t => {
  for (const sent of [part('Content-Disposition: form-data; name="\xff"'), `${part(head('a'))}\xff`]) {
    const body = bodyOf([Buffer.from(sent + last, 'latin1')], t.testdir())
    await t.rejects(body.formData(), { code: 'BODY_TEXT_INVALID', status: 400 })
  }
})

t.test('the type of a file is in lower case, and its parameters are as they were sent', async t => {
  const types: readonly [sent: string, type: string][] = [
    ['Image/PNG', 'image/png'],
    ['multipart/mixed; boundary=AbC', 'multipart/mixed; boundary=AbC'],
    ['Text/Plain;Charset="UTF-8";Title=A;b=C', 'text/plain;Charset="UTF-8";Title=A;b=C'],
    ['; X=Y', '; X=Y'],
  ]
  const parts = types.map(([type]): Sent => ({ name: 'f', fileName: 'f', type, content: Buffer.from('a') }))
  const form = await bodyOf([encode(parts)], t.testdir()).formData()
  const found = form.getAll('f').map((file, at) => [types[at]?.[0], file instanceof UploadedFile && file.type])
  t.strictSame(found, types)
})

t.test('a field that is not UTF-8 is refused by the name of its charset', async t => {
  const sent = `${part('Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=ISO-8859-1')}\xe9`
  const body = bodyOf([Buffer.from(sent + last, 'latin1')], t.testdir())
  await t.rejects(body.formData(), {
    status: 415,
    message: 'The request body has the charset "ISO-8859-1". Send UTF-8.',
  })
})

t.test('each limit is kept, and unfinished files are removed', async t => {
  const directory = t.testdir()
  const text = (name: string, size: number): Sent => ({ name, content: Buffer.alloc(size, 'x') })
  const file = (size: number): Sent => ({ name: 'f', fileName: 'f', content: Buffer.alloc(size, 'x') })
  const limits = { fields: 2, files: 1, bytes: 100, multipartBytes: 2000 }
  const within = bodyOf([encode([text('a', 50), file(500), text('b', 50)])], directory, limits)
  t.equal([...(await within.formData())].length, 3)
  await within.dispose()

  for (const [parts, code, message] of [
    [[file(1), text('a', 50), text('b', 51)], 'BODY_FIELDS_TOO_LARGE', /limit of 100 bytes/],
    [[file(1), text('a', 1), text('b', 1), text('c', 1)], 'BODY_FIELDS_TOO_MANY', /limit of 2 fields/],
    [[file(1), file(1)], 'BODY_FIELDS_TOO_MANY', /limit of 1 files/],
    [[file(2000)], 'BODY_TOO_LARGE', /limit of 2000 bytes/],
  ] as const) {
    const body = bodyOf(slice(encode(parts), [99]), directory, limits)
    await t.rejects(body.formData(), { code, status: 413, message })
    t.strictSame(await readdir(directory), [])
  }
})

t.test('an upload that breaks off is refused and removed', async t => {
  const directory = t.testdir()
  const stream = new PassThrough()
  const body = new RequestBody({ stream, contentType }, { temporaryDirectory: directory })
  const form = body.formData()
  stream.write(`${part(head('f', 'f'))}${'x'.repeat(100_000)}`)
  await waitFor(async () => (await readdir(directory, { recursive: true })).length === 2)
  stream.destroy(new Error('reset'))
  await t.rejects(form, { code: 'BODY_TRUNCATED', cause: { message: 'reset' } })
  t.strictSame(await readdir(directory), [])
})

t.test('dispose waits for a form that is still coming in', async t => {
  const directory = t.testdir()
  const stream = new PassThrough()
  const body = new RequestBody({ stream, contentType }, { temporaryDirectory: directory })
  const form = body.formData()
  const disposed = body.dispose()
  stream.end(encode([{ name: 'f', fileName: 'f', content: Buffer.from('x') }]))
  await t.resolves(form)
  await disposed
  t.strictSame(await readdir(directory), [])
})

t.test('small chunks are joined before they are written, and the stream waits for each write', async t => {
  const directory = t.testdir({ probe: '' })
  const probe = await open(path.join(directory, 'probe'))
  const handles: FileHandle = Object.getPrototypeOf(probe)
  await probe.close()
  const writes = t.capture(handles, 'appendFile', handles.appendFile)
  const content = Buffer.alloc(200_000, 'x')
  const sent = encode([
    { name: 'f', fileName: 'f', content },
    { name: 'g', fileName: 'g', content: Buffer.from('y') },
  ])
  const stream = Readable.from(slice(sent, [0]))
  let pauses = 0
  // Before Node 26 a stream emits "pause" after its end, too.
  stream.on('pause', () => {
    if (!stream.readableEnded) pauses++
  })
  const body = new RequestBody({ stream, contentType }, { temporaryDirectory: directory })
  const form = await body.formData()
  const file = form.get('f')
  if (!(file instanceof UploadedFile)) throw new Error('not a file')
  t.ok(content.equals(await readFile(file.path)))
  t.equal(writes().length, 5, 'of 200,001 bytes: four of up to 64 KiB, and one for the second file')
  t.equal(pauses, 3, 'one for each full batch')
  await body.dispose()
})

t.test('a failing disk is no client error, and dispose does not reject', async t => {
  const directory = path.join(t.testdir(), 'missing')
  const body = bodyOf(slice(encode([{ name: 'f', fileName: 'f', content: Buffer.alloc(5000) }]), [99]), directory)
  await t.rejects(body.formData(), { code: 'ENOENT' })
  await t.resolves(Promise.resolve(body.dispose()))
})

t.test('a form fails if its directory was removed meanwhile', async t => {
  const directory = t.testdir()
  const stream = new PassThrough()
  const body = new RequestBody({ stream, contentType }, { temporaryDirectory: directory })
  const form = body.formData()
  stream.write(`${part(head('f', 'f'))}${'x'.repeat(100_000)}`)
  await waitFor(async () => (await readdir(directory, { recursive: true })).length === 2)
  for (const name of await readdir(directory)) await rm(path.join(directory, name), { recursive: true })
  await mkdir(path.join(directory, 'other'))
  await writeFile(path.join(directory, 'other', 'file'), '')
  stream.end(`${last.slice(0, -2)}\r\n${head('g', 'g')}\r\n\r\nx${last}`)
  await t.rejects(form, { code: 'ENOENT' })
  t.strictSame(await readdir(directory), ['other'], 'and nothing else is removed')
})

const last = '\r\n--line--'

function head(name: string, fileName?: string): string {
  return `Content-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}`
}

function part(headers: string): string {
  return `--line\r\n${headers}\r\n\r\nx`
}

/** The names with the texts, or with the sizes of files; or the status of the refusal. */
function parseSlowly(sent: Buffer): [string, string | number][] | 400 {
  const parts: [string, string | number][] = []
  // A character is a byte.
  const form = `\r\n${sent.toString('latin1')}`
  const start = form.indexOf('\r\n--line')
  let rest = start === -1 ? '' : form.slice(start + '\r\n--line'.length)
  while (!rest.startsWith('--')) {
    const [, bytes, content, next] = /^[ \t]*\r\n(.*?)\r\n\r\n(.*?)\r\n--line(.*)$/s.exec(rest) ?? []
    if (bytes === undefined || content === undefined || next === undefined) return 400
    rest = next
    const head = Buffer.from(bytes, 'latin1')
    const lines = head
      .toString()
      .replace(/\r\n(?=[ \t])/g, '')
      .split('\r\n')
    const names = lines.map(line => /^([\w-]+):[^\r\n]*$/.exec(line)?.[1]?.toLowerCase())
    if (!isUtf8(head) || names.includes(undefined) || new Set(names).size < names.length) return 400
    const disposition = lines[names.indexOf('content-disposition')] ?? ''
    // Some clients write a quotation mark as \".
    const quoted = /"((?:\\"(?![ \t]*(?:;|$))|[^"])*)"/.source
    const pattern = new RegExp(`;[ \\t]*([^\\s=;"]+)=(?:${quoted}|([^\\s;"]+))[ \\t]*`, 'g')
    const parameters = [...disposition.matchAll(pattern)]
    const values = new Map(
      parameters.map(([, key, text, token]) => [key?.toLowerCase(), text?.replaceAll('\\"', '"') ?? token]),
    )
    const type = disposition.slice(0, disposition.indexOf(';'))
    const whole = [type, ...parameters.map(([text]) => text)].join('')
    const isWhole = disposition.slice(whole.length).match(/^(?:;[ \t]*)?$/) !== null && disposition.startsWith(whole)
    const isFormData = /^[^:]*:[ \t]*form-data[ \t]*$/i.test(type)
    const name = values.get('name')
    if (!isWhole || !isFormData || values.size < parameters.length || name === undefined) return 400
    const isFile = values.has('filename')
    const text = Buffer.from(content, 'latin1')
    if (!isFile && !isUtf8(text)) return 400
    const unescaped = name.replace(/%(?:22|0D|0A)/g, decodeURIComponent)
    parts.push([unescaped, isFile ? text.length : text.toString()])
  }
  return parts
}

/** Damages a form in one place. */
function inflict(sent: Buffer, at: number, how: string): Buffer {
  const [before, after] = [sent.subarray(0, at), sent.subarray(at)]
  if (how === 'cut') return before
  if (how === 'drop') return Buffer.concat([before, after.subarray(1)])
  if (how === 'flip') return Buffer.concat([before, after.subarray(0, 1).map(byte => byte ^ 1), after.subarray(1)])
  if (how === 'repeat') return Buffer.concat([before, sent.subarray(Math.max(0, at - 9))])
  return Buffer.concat([before, Buffer.from(how === 'break' ? '\r\n' : ' '), after])
}

/** As the Fetch Standard encodes a form. */
function encode(parts: readonly Sent[]): Buffer {
  const escapeName = (name: string) => name.replace(/["\r\n]/g, encodeURIComponent)
  const pieces = parts.flatMap(({ name, fileName, type, content }) => [
    Buffer.from(`--line\r\n${head(escapeName(name), fileName === undefined ? undefined : escapeName(fileName))}\r\n`),
    Buffer.from(type === undefined ? '\r\n' : `Content-Type: ${type}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from('--line--\r\n')])
}

/** Cuts bytes into pieces of the given sizes, over and over. */
function slice(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = 1 + (sizes[turn % sizes.length] ?? 0)
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

function bodyOf(
  chunks: readonly (Buffer | string)[],
  directory: string,
  limits: NonNullable<ConstructorParameters<typeof RequestBody>[1]>['limits'] = {},
): RequestBody {
  const stream = Readable.from(chunks.map(chunk => Buffer.from(chunk)))
  return new RequestBody({ stream, contentType }, { limits, temporaryDirectory: directory })
}

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    if (await condition()) return
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  throw new Error('it did not happen within five seconds')
}
