import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Request } from 'sinfonietta'
import { encodeUpload } from 'sinfonietta/testing'
import { t } from 'tap'
import { createCurl, toFetch } from '#bundles/profiler/export/snippets.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { hostileTexts } from '#tests/support/hostile-texts.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenRuns, provenSample } from '#tests/support/sample.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Headers that each client sets itself. */
const senders = /^(?:host|connection|keep-alive|accept-encoding|content-length|sec-fetch-mode)$/i

/** Describes a received request, without the parts that differ each time. */
async function mirror(request: Request): Promise<Response> {
  const { body, headers, method, url } = request
  const type = headers.get('content-type') ?? ''
  const isForm = /form/.test(type)
  const fields = isForm
    ? Array.from(await body.formData(), ([name, value]) => [name, typeof value === 'string' ? value : value.name])
    : await body.text()
  const others = [...headers]
    .filter(([name]) => !senders.test(name))
    .map(([name, value]) => [name.toLowerCase(), value])
  const known = others.map(([name = '', value = '']) => [
    name,
    name === 'content-type' ? value.replace(/;.*/, '') : value,
  ])
  return Response.json({ method, url, fields, headers: known.sort() }, { status: 207 })
}

t.test('curl and fetch repeat the same request', async t => {
  const kernel = await createProfiledKernel(t, { handlers: { '/mirror': mirror } })
  const { url } = await serveKernel(t, kernel)
  const folder = t.testdir({ 'own-notes': 'own' })
  const multipart = encodeUpload({ name: "it's", cv: { name: 'cv 1.txt', type: 'text/plain', content: 'text' } })
  const file = (name: string) => ({ name, type: 'text/plain', content: '' })
  const hostile = encodeUpload({
    'a=@own-notes': "\u0085\u001b';>canary;#\r\n",
    'b=@own-notes;x': file('cv "1".txt'),
    'c=<own-notes;x': file('.env'),
  })
  const hasCurl = spawnSync('curl', ['--version']).status === 0
  const json = { 'content-type': 'application/json' }
  const requests: Record<string, RequestInit & { query?: string }> = {
    page: {
      query: '?a=1&b=%25%26+x&%C3%A9=[1]',
      headers: { 'x-word': `it's "quoted" $HOME \`id\` \\ !`, 'accept-language': 'de' },
    },
    form: { method: 'POST', body: new URLSearchParams({ name: 'Ada & co', line: 'one\r\ntwo', at: '@file' }) },
    json: { method: 'PUT', body: JSON.stringify({ list: [1, null, "it's"], text: 'é\u2028<b>' }), headers: json },
    'no value': { method: 'POST', body: 'null', headers: json },
    upload: { method: 'POST', body: multipart.body, headers: { 'content-type': multipart.contentType } },
    'hostile upload': { method: 'POST', body: hostile.body, headers: { 'content-type': hostile.contentType } },
    'bytes in a header': { headers: { 'x-byte': "\u0085';>canary;#\u00e9" } },
    deletion: { method: 'DELETE' },
  }
  for (const [name, { query = '', ...init }] of provenSample(Object.entries(requests), 3)) {
    const response = await fetch(`${url}/mirror${query}`, init)
    const answer = await response.json()
    const link = `${url}/_profiler/${response.headers.get('x-debug-token')}/export`
    const read = async (kind: string) => (await fetch(`${link}/${kind}`)).text()

    const file = path.join(folder, 'again.mjs')
    writeFileSync(file, await read('fetch'))
    const { stdout } = await runProcess(t, [process.execPath, file], { env: { ...process.env, FORCE_COLOR: '0' } })
    t.match(stdout, /^207 /)
    t.strictSame(JSON.parse(stdout.slice(4)), answer, `${name}, by fetch`)

    if (!hasCurl) continue
    const script = await read('curl')
    t.match(script, /^#!\/bin\/sh\n/)
    const asked = await runProcess(t, ['/bin/sh', '-c', `${script.trim()} --silent`], { cwd: folder })
    t.strictSame(JSON.parse(asked.stdout), answer, `${name}, by curl`)
  }
  t.strictSame(readdirSync(folder).sort(), ['again.mjs', 'own-notes'], 'nothing else was run')
})

t.test('masked values stay masked, and invalid values are omitted', async t => {
  const headers = [['cookie', 'a=******'], ['…', '…'], ['x-cut', 'abc…'], ['host', 'a'], 7]
  const snippet = (body: unknown, method = 'GET') =>
    toFetch(createProfile({ request: { headers, body } }, { method, url: 'http://a/\u202e' }))
  t.equal(
    snippet({ json: [1] }),
    [
      '// With GET, fetch() sends no body.',
      'const response = await fetch("http://a/\\u202e", {',
      '  method: "GET",',
      '  headers: [',
      '    ["cookie", "a=******"],',
      '  ],',
      "  redirect: 'manual',",
      '})',
      'console.log(response.status, await response.text())',
      '',
    ].join('\n'),
  )
  const form = { type: 'multipart/form-data', form: [['a', 'b']] }
  t.match(snippet(form, 'POST'), 'form.append("a", "b")')
  t.match(snippet(form), '// With GET, fetch() sends no body.')
  const files = [{ field: 'a', name: 'a.txt', type: 'text/plain', size: 1 }]
  t.match(snippet({ type: 'multipart/form-data', files }), '// With GET, fetch() sends no body.')
  t.notMatch(snippet({ state: 'unread' }), 'sends no body')
  t.match(toFetch(createProfile({}, { method: '', url: '' })), 'await fetch("", {')
  t.notMatch(snippet({ state: 'unread' }, 'POST'), 'body')
  t.match(createCurl(createProfile({ request: { headers } })), 'a=******')
})

t.test('with any profile, a snippet only calls fetch with the recorded values', async t => {
  const text = fc
    .array(fc.oneof(fc.constantFrom(...hostileTexts, '*/', '\\', '\n', '\u{e0041}'), fc.string({ unit: 'binary' })))
    .map(pieces => pieces.join(''))
  const form = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 3 })
  const property = fc.property(text, text, form, (url, value, form) => {
    const headers = [['x-a', value.replace(/[^ -~\x80-\xff]/g, '')]]
    const request = { headers, body: { type: 'multipart/form-data', form } }
    const script = toFetch(createProfile({ request }, { method: 'POST', url }))
    assert.doesNotMatch(script, /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u)
    const calls: unknown[] = []
    const sent: unknown[] = []
    const ask = (...words: unknown[]) => void calls.push(words)
    class FormData {
      append(...pair: string[]) {
        sent.push(pair)
      }
    }
    const body = script.replace('await fetch', 'fetch').replace(/console\.log.*\n$/, '')
    runInNewContext(body, { fetch: ask, FormData })
    // Objects of another context have other prototypes.
    const expected = [[url, { method: 'POST', headers, body: {}, redirect: 'manual' }]]
    assert.deepEqual(JSON.parse(JSON.stringify(calls)), JSON.parse(JSON.stringify(expected)))
    assert.deepEqual(sent, form)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: provenRuns(200) }))
})
