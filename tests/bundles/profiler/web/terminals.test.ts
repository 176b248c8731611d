import { dump, HttpError, Response } from 'sinfonietta'
import { encodeUpload } from 'sinfonietta/testing'
import { t } from 'tap'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

/** CSI of C1, ESC, BEL, DEL, an override of the text direction, isolates, line separators, and an invisible letter. */
const hostile = 'x\u009b31m\u001b[2J\u0007\u007f\u202e\u2066\u200f\u061c\u2028\u2029\u{e0041}\rx'

/** What a terminal would interpret, and what reverses the text around it. */
const raw = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/u
/** Programs also show nothing that a person cannot see. */
const unseen = /[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/u

t.test('no page for programs, and no error in a terminal, contains a raw control or bidi character', async t => {
  const fail = () => {
    const cause = new TypeError(hostile)
    throw Object.assign(new Error(hostile, { cause }), { name: hostile, [hostile]: [hostile], query: hostile })
  }
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/fail': fail,
      '/fail/:name': fail,
      '/gone': () => {
        throw new HttpError(410, hostile, { members: { [hostile]: hostile } })
      },
      '/much': async request => {
        await request.formData()
        kernel.app.logger.error(`a ${hostile} {value}`, { value: hostile, [hostile]: new Error(hostile) })
        dump({ [hostile]: hostile })
        request.attributes.set('user', hostile)
        return Response.json({ [hostile]: [hostile] })
      },
      '/text': () => Response.text(hostile),
    },
  })
  const { client } = kernel
  const off = { 'x-profiler': 'off' }
  const latin = 'x\u009b\u0080x'
  const file = { name: hostile, type: 'text/plain', content: 'a' }
  const { body, contentType } = encodeUpload({ [hostile]: hostile, cv: file })
  const fields = { 'content-type': contentType, 'x-own': latin, 'user-agent': latin }
  const escaped = encodeURIComponent(hostile)
  const answers = [
    await client.post('/much', { body, headers: fields }),
    await client.get(`/fail/${escaped}?${escaped}=${escaped}`),
    await client.get('/text', { headers: { referer: latin, cookie: `a=${latin}` } }),
    await client.get(`/missing/${escaped}`),
  ]
  const tokens: string[] = []
  for (const answer of answers) tokens.push((await kernel.storedOf(answer)).profile.summary.token)
  const forms = tokens.flatMap(token => ['json', 'md', 'har', 'curl', 'html'].map(form => [token, form]))
  const paths = [
    ...forms.map(([token, form]) =>
      form === 'json' || form === 'md' ? `${token}.${form}` : `${token}/export/${form}`,
    ),
    ...['search', 'routes', 'latest'].flatMap(page => [`${page}.json`, `${page}.md`]),

    `route.json?method=GET&name=${escaped}`,
    `palette?q=x`,
    `ffffff.json?panel=${escaped}`,
    `search.json?${new URLSearchParams({ url: hostile, [hostile]: hostile, start: hostile })}`,
  ]
  const offenders: string[] = []
  let found = 0
  for (const path of paths) {
    const { text } = await client.get(`/_profiler/${path}`, { headers: off })
    if (/u009b|\\233/i.test(text)) found++
    const pattern = /\.(?:json|md)|palette|har/.test(path) ? unseen : raw
    if (pattern.test(text))
      offenders.push(`${path}: ${JSON.stringify(text.match(new RegExp(`.{0,60}${pattern.source}`, 'u'))?.[0])}`)
    if (path.includes('json')) JSON.parse(text)
  }
  for (const path of ['/fail', '/gone', `/missing/${escaped}`]) {
    for (const accept of ['application/json', 'application/problem+json', 'text/markdown', 'text/plain']) {
      const { text } = await client.get(path, { headers: { ...off, accept, referer: latin } })
      if (raw.test(text))
        offenders.push(`${path} ${accept}: ${JSON.stringify(text.match(new RegExp(`.{0,60}${raw.source}`, 'u'))?.[0])}`)
    }
  }
  t.strictSame(offenders, [])
  t.ok(found > 10, `${found} pages show the text as escapes`)
})
