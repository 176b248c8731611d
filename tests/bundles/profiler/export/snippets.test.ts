import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import type { Request } from 'sinfonietta'
import { encodeUpload } from 'sinfonietta/testing'
import { t } from 'tap'
import { createCurl } from '#bundles/profiler/export/snippets.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenSample } from '#tests/support/sample.ts'
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

const skip = spawnSync('curl', ['--version']).status === 0 ? false : 'there is no curl'

t.test('curl repeats the same request', { skip }, async t => {
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
    const link = `${url}/_profiler/${response.headers.get('x-debug-token')}/export/curl`
    const script = await (await fetch(link)).text()
    t.match(script, /^#!\/bin\/sh\n/)
    const asked = await runProcess(t, ['/bin/sh', '-c', `${script.trim()} --silent`], { cwd: folder })
    t.strictSame(JSON.parse(asked.stdout), answer, name)
  }
  t.strictSame(readdirSync(folder), ['own-notes'], 'nothing else was run')
})

t.test('masked values stay masked', t => {
  const headers = [['cookie', 'a=******'], ['…', '…'], ['x-cut', 'abc…'], ['host', 'a'], 7]
  t.match(createCurl(createProfile({ request: { headers } })), 'a=******')
  t.end()
})
