import { type } from 'arktype'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { checkedForm, formBody, jsonBody, queryValues, routeParameters } from '#kernel/argument-sources.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import type { StandardSchema } from '#lib/schema/standard-schema.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

/** Not as a literal: profiles contain excerpts of this file. */
const secret = ['hunt', 'er2'].join('')

const answer = () => Response.json('accepted')

const titled = v.pipe(
  v.object({ items: v.array(v.object({ price: v.number(), password: v.string() })) }),
  v.title('Cart'),
)
const login = z
  .object({ name: z.string().min(2), password: z.string().min(20), token: z.string() })
  .meta({ title: 'Login' })
const odd: StandardSchema = Object.assign(type({ id: 'string.integer.parse' }), {
  meta() {
    throw new Error('It is no schema of zod.')
  },
})
const failing: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'own',
    validate() {
      throw new TypeError('There is no table <books>.')
    },
  },
}

const register: Bundle['register'] = ({ routes }) => {
  const add = (path: string, controller: ReturnType<typeof defineController>) =>
    routes.add({ name: path, path, controller, defaults: { _format: 'json' } })
  add('/cart', defineController('cart', { body: jsonBody(titled) }, answer))
  add('/login', defineController('login', { body: formBody(login) }, answer))
  add('/again', defineController('again', { body: checkedForm(login) }, answer))
  add(
    '/book/:id',
    defineController('book', { route: routeParameters(odd), query: queryValues(v.looseObject({})) }, answer),
  )
  add('/failing', defineController('failing', { query: queryValues(failing) }, answer))
  const later = v.pipeAsync(
    v.looseObject({}),
    v.checkAsync(async () => true),
  )
  add(
    '/many',
    defineController(
      'many',
      Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`query${index}`, queryValues(later)])),
      answer,
    ),
  )
}

t.test('a refused JSON body is in the profile, the panel, the toolbar and the exports', async t => {
  const kernel = await createProfiledKernel(t, { register })
  const items = [{ price: '<5>', password: 7 }, { price: 1, password: secret }, {}]
  const response = await kernel.client.post('/cart', { json: { items, note: `see postgres://u:${secret}@db` } })
  t.equal(response.status, 422)
  const profile = await kernel.profileOf(response)
  const { token } = profile.summary
  t.notMatch(JSON.stringify(profile.data), secret)
  const { omitted, validations = [] } = profile.collectors.validation ?? {}
  t.equal(omitted, 0)
  t.match(validations, [
    {
      source: 'json',
      vendor: 'valibot',
      schema: 'Cart',
      start: Number,
      end: Number,
      omittedIssues: 0,
      issues: [
        { path: ['items', '0', 'price'], message: 'Invalid type: Expected number but received "<5>"' },
        { path: ['items', '0', 'password'], message: 'Invalid type: Expected string but received ******' },
        { path: ['items', '2', 'price'], message: 'Invalid key: Expected "price" but received undefined' },
        { path: ['items', '2', 'password'], message: 'Invalid key: Expected "******" but received undefined' },
      ],
    },
  ])

  const html = plainEquals(await kernel.show('validation', profile))
  t.match(html, '<h3>JSON body <span class="level level-error">refused, 4 issues</span>')
  t.match(html, /<span class="count">Cart \(valibot\), \+[\d.]+ m?s, took [\d.]+ m?s<\/span><\/h3>/)
  t.match(html, '<td><code>items.0.price</code></td>')
  t.match(html, '<code>&quot;&lt;5&gt;&quot;</code>')
  t.match(html, '<td class="full" data-label="received"><code>******</code></td>', 'a received password')
  t.match(html, '<span class="soft">(none)</span>')
  t.strictSame(kernel.panel('validation').badge?.(profile), { text: '4', level: 'error' })

  const bar = toText(plainEquals((await kernel.client.get(`/_wdt/${token}`)).text))
  t.match(bar, 'Validation 4 issues Validation items.0.price Invalid type: Expected number but received "<5>"')
  t.match(bar, 'Response 422 items.0.price: Invalid type: Expected number but received "<5>", and 3 more Response')
  const markdown = (await kernel.client.get(`/_profiler/${token}.md?panel=validation`)).text
  t.match(markdown, '`items.0.price`: `Invalid type: Expected number but received "<5>"`, and 3 more.')
  t.match(markdown, /\n\nJSON body: refused, 4 issues by `Cart \(valibot\)`, took [\d.]+ m?s\n\n- `items\.0\.price`: /)
  t.match(markdown, '`Invalid type: Expected number but received "<5>"`, received `"<5>"`\n')
  t.match((await kernel.client.get(`/_profiler/${token}.md`)).text, '## Validation')
  t.match((await kernel.client.get(`/_profiler/${token}.json?panel=validation`)).json(), {
    data: { validation: { validations: [{ vendor: 'valibot' }] } },
  })
})

t.test('a form has no secrets in its profile, and one that is shown again is refused, too', async t => {
  const kernel = await createProfiledKernel(t, { register })
  const form = { name: 'A', password: secret, token: secret, tag: ['a', 'b'] }
  for (const path of ['/login', '/again']) {
    const response = await kernel.client.post(path, { form })
    t.equal(response.status, path === '/login' ? 422 : 200)
    const profile = await kernel.profileOf(response)
    t.notMatch(JSON.stringify(profile.data), secret)
    t.match(profile.collectors.validation?.validations, [
      { source: 'form', vendor: 'zod', schema: 'Login', issues: [{ path: ['name'] }, { path: ['password'] }] },
    ])
    const text = toText(plainEquals(await kernel.show('validation', profile)))
    t.match(text, 'Form refused, 2 issues')
    const overview = toText(plainEquals(await kernel.show('overview', profile)))
    t.match(overview, /(?:422 after .*|; input refused) ?: name : Too small: .* , and 1 more\./)
    t.match(text, 'Object name : "A" password : ****** token : ****** tag : Array(2) 0 : "a" 1 : "b"')
  }
})

t.test('accepted inputs are in the panel, without a badge and an item of the toolbar', async t => {
  const kernel = await createProfiledKernel(t, { register })
  const profile = await kernel.profileOf(await kernel.client.get('/book/7?page=2&code=abc&state=1'))
  const { validations = [] } = profile.collectors.validation ?? {}
  t.strictSame(
    validations.map(({ schema, source, vendor }) => [source, vendor, schema]),
    [
      ['route', 'arktype', undefined],
      ['query', 'valibot', undefined],
    ],
  )
  t.strictSame(kernel.panel('validation').badge?.(profile), { text: '', level: 'warning' })
  const text = toText(plainEquals(await kernel.show('validation', profile)))
  t.match(text, /Route parameters accepted arktype, \+[\d.]+ m?s, took [\d.]+ m?s Received values Object id : "7"/)
  t.match(text, /Query accepted valibot,/)
  t.notMatch((await kernel.client.get(`/_wdt/${profile.summary.token}`)).text, 'Validation')
  const markdown = toMarkdown(createShown({}, { profile }), 'validation')
  t.match(
    markdown,
    /Query: accepted by `valibot`, took [\d.]+ m?s\n\n```text\nObject\n {2}page: "2"\n {2}code: "\*{6}"\n {2}state: "1"\n```/,
  )

  const none = await kernel.profileOf(await kernel.client.get('/_none'))
  t.equal(kernel.panel('validation').hasContent(none), false)
  t.match(await kernel.show('validation', none), 'No validations.')
  t.match(toMarkdown(createShown({}, { profile: none }), 'validation'), 'No schema has validated the input.')
})

t.test('an error of a schema is shown, and a request has at most 50 validations', async t => {
  const kernel = await createProfiledKernel(t, { register })
  const failed = await kernel.profileOf(await kernel.client.get('/failing'))
  const text = toText(plainEquals(await kernel.show('validation', failed)))
  t.match(text, 'Query failed own,')
  t.match(text, 'The schema has thrown TypeError: There is no table <books>.')
  t.match(
    toMarkdown(createShown({}, { profile: failed }), 'validation'),
    'The schema has thrown `TypeError: There is no table <books>.`',
  )
  const many = await kernel.profileOf(await kernel.client.get('/many'))
  const { omitted, validations } = many.collectors.validation ?? {}
  t.strictSame([validations?.length, omitted], [50, 10])
  t.ok(
    validations?.every(({ end = 0, start }) => end >= start),
    'all of them are over',
  )
  t.match(await kernel.show('validation', many), '10 more validations were over the limit')
  t.match(toMarkdown(createShown({}, { profile: many })), '10 more not recorded.')
})

t.test('a validation that is not over, and issues that are not listed', async t => {
  const kernel = await createProfiledKernel(t)
  const input = { kind: 'value', text: '5' }
  const open = { source: 'json', vendor: 'zod', start: 1, issues: [], omittedIssues: 0, input }
  const issues = [{ path: [], message: 'wrong' }]
  const whole = { ...open, end: 2, issues, omittedIssues: 1200 }
  const profile = createProfile({ validation: { validations: [open, whole], omitted: 0 } })
  const text = toText(plainEquals(await kernel.show('validation', profile)))
  t.match(text, 'JSON body not over zod, +1.0 ms Received values 5')
  t.match(text, 'JSON body refused, 1,201 issues zod, +1.0 ms, took 1.0 ms Field Message Received (all) wrong 5')
  t.match(text, '… 1,200 more issues')
  const markdown = toMarkdown(createShown({}, { profile }))
  t.match(markdown, 'JSON body: not over by `zod`\n')
  t.match(markdown, '- `wrong`, received `5`\n\n1,200 more issues.\n')
})

t.test('a request that is not recorded has no validations, beside a kernel that records', async t => {
  await createProfiledKernel(t, { register })
  const plain = await createTestKernel({ bundles: [createFrameworkBundle(), { name: 'own', register }] })
  t.teardown(() => plain.close())
  t.equal((await plain.client.get('/book/7')).status, 200)
  const other = await createProfiledKernel(t, { register })
  const profile = await other.profileOf(await other.client.get('/book/7'))
  t.equal(profile.collectors.validation?.validations.length, 2, 'each once, with two kernels that record')
})
