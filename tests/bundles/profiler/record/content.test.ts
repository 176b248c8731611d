import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { t } from 'tap'
import { ContentCopier, contentLimit, type SentContent } from '#bundles/profiler/record/copy.ts'
import { CallMessage, createAllowance } from '#bundles/profiler/subjects/http/traced-calls.ts'
import { MaskingCopier } from '#lib/redact/masking-copier.ts'
import { Redactor } from '#lib/redact/redactor.ts'

const redactor = new Redactor({ APP_SECRET: 'long-secret-of-the-application' })

function copy(body: string | Uint8Array, type: string, more: Partial<SentContent> = {}) {
  return new ContentCopier(redactor).copy({ body, type, encoding: '', ...more })
}

t.test('JSON and forms are stored as data, masked by names', async t => {
  t.strictSame(copy('\ufeff{"a":1,"pin":"2"}', 'Application/JSON; charset=utf-8'), {
    type: 'application/json',
    length: 20,
    json: [{ a: 1, pin: '******' }],
  })
  t.strictSame(copy('null', 'application/problem+json'), { type: 'application/problem+json', length: 4, json: [null] })
  t.strictSame(copy('a=1&a=2&token=x&code=y&state=z', 'application/x-www-form-urlencoded'), {
    type: 'application/x-www-form-urlencoded',
    length: 30,
    form: [
      ['a', '1'],
      ['a', '2'],
      ['token', '******'],
      ['code', '******'],
      ['state', 'z'],
    ],
  })
})

t.test('JSON that is not valid, and JSON that is too long to be parsed, is text', async t => {
  t.match(copy('{"password":"x', 'application/json'), { text: '{"password":"******', json: undefined })
  t.match(copy('a=%&b', 'application/x-www-form-urlencoded'), {
    form: [
      ['a', '%'],
      ['b', ''],
    ],
  })
  t.match(copy(`[${'1,'.repeat(200_000)}1]`, 'application/json'), { json: undefined, isCut: true, text: /^\[1,1,/ })
})

t.test('of a long text only the beginning is read', async t => {
  const read: number[] = []
  const hide = (text: string) => {
    read.push(text.length)
    return text.slice(0, 100)
  }
  const bytes = Buffer.from(`${'€'.repeat(1_000_000)}`)
  const stored = copy(bytes, 'text/plain', { hide })
  t.match(stored, { length: 3_000_000, isCut: true })
  copy(String(bytes), 'text/plain', { hide })
  t.match(copy(bytes, 'text/plain', { hide, encoding: 'identity' }), { length: 3_000_000, isCut: true })
  t.strictSame(read, [262_145, 262_145, 262_145])
})

t.test('of a chunk of a call only the part that is kept is copied', async t => {
  const headers = ['content-type', 'text/plain']
  for (const chunk of [new Uint8Array(50_000_000).fill(97), 'a'.repeat(50_000_000), '€'.repeat(50_000_000 / 4)]) {
    const kept = createAllowance()
    const message = new CallMessage(headers, kept)
    const before = process.memoryUsage().arrayBuffers
    message.take(chunk)
    t.equal(kept.left, 192 * 1024 - contentLimit)
    t.ok(process.memoryUsage().arrayBuffers - before < 2_000_000)
    const copier = new MaskingCopier(redactor, { depth: 1, entries: 9, text: 99 })
    const { content } = message.describe(copier, new ContentCopier(redactor))
    t.match(content, { length: Buffer.byteLength(chunk), isCut: true })
  }
})

t.test('the values of secret variables are masked in any text', async t => {
  t.match(copy('<p>long-secret-of-the-application</p>', 'text/html'), { text: '<p>******</p>' })
  t.match(copy('a\nBearer abcdefgh', 'text/plain'), { text: 'a\nBearer ******' })
})

t.test('long text is cut, and no half of a secret is before the cut', async t => {
  const secret = 'long-secret-of-the-application'
  for (let shift = 0; shift < 60; shift += 7) {
    const text = `${'x '.repeat(contentLimit / 2 - 20)}${'y'.repeat(shift)}${secret}${' z'.repeat(5000)}`
    const stored = copy(text, 'text/plain')
    t.match(stored, { isCut: true, length: text.length, digest: /^[\da-f]{32}$/ })
    t.ok(Number(stored?.text?.length) <= contentLimit)
    t.notMatch(stored?.text, /long-s/)
  }
  for (const field of ['<input name=token value="', '<td>Token</td><td>']) {
    const html = `${'x '.repeat(30_000)}${field}${'Xk7Canary9'.repeat(2000)}">`
    t.notMatch(copy(html, 'text/html')?.text, 'Canary', field)
  }
  t.match(copy('half', 'text/plain', { whole: 9 }), { text: '', isCut: true, length: 9, digest: undefined })
})

t.test('compressed text is decompressed, also its beginning', async t => {
  const text = Array.from({ length: 500 }, (_, line) => `line ${line}`).join('\n')
  for (const [encoding, bytes] of [
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
  ] as const) {
    t.match(copy(bytes, 'text/plain', { encoding }), { text, length: text.length }, encoding)
  }
  const bytes = gzipSync(text)
  t.match(copy(bytes.subarray(0, 300), 'text/plain', { encoding: 'gzip', whole: bytes.length }), { isCut: true })
  const note = 'The encoding of the text cannot be read.'
  t.match(copy(Buffer.from('no gzip'), 'text/plain', { encoding: 'gzip' }), { note, length: null })
  t.match(copy(bytes, 'text/plain', { encoding: 'zstd' }), { note })
  t.match(copy(bytes, 'text/plain', { encoding: 'zstd', hide: text => text.trim() }), { note }, 'nothing to hide in it')
  t.match(copy(gzipSync('x'.repeat(300_000)), 'text/plain', { encoding: 'gzip' }), { note }, 'a bomb')
})

t.test('text is decoded by its charset', async t => {
  t.match(copy(Buffer.from('é', 'latin1'), 'text/plain; charset="iso-8859-1"'), { text: 'é' })
  t.match(copy(Buffer.from('x'), 'text/plain; charset=none'), { note: 'The encoding of the text cannot be read.' })
})

t.test('other content has its type, size and digest', async t => {
  t.match(copy(new Uint8Array([1]), 'image/png'), {
    type: 'image/png',
    length: 1,
    digest: '4bf5122f344554c53bde2ebb8cd2b7e3',
    note: 'Only text is stored.',
  })
  t.match(copy(new Uint8Array(2_000_000), ''), { type: '', length: 2_000_000, digest: undefined })
  t.equal(copy('', 'text/plain'), undefined)
})

t.test('copying takes a bounded share of the time', async t => {
  let now = 0
  // Each copy takes 50 ms.
  const copier = new ContentCopier(redactor, () => (now += 25))
  const isStored = () => copier.copy({ body: 'x', type: 'text/plain', encoding: '' })?.text === 'x'
  let stored = 0
  for (let count = 0; count < 50; count++) if (isStored()) stored++
  t.ok(stored >= 8 && stored < 12, String(stored))
  const copyResult = (body: string, mayHaveErrors: () => boolean) =>
    copier.copy({ body, type: 'application/json', encoding: '', mayHaveErrors })?.json
  t.strictSame(
    [copyResult('{}', () => true), copyResult('{}', () => false), copyResult(`"${'x'.repeat(20_000)}"`, () => true)],
    [[{}], undefined, undefined],
    'a short result of an operation is always stored',
  )
  now += 60_000
  t.ok(isStored())
})
