import { type } from 'arktype'
import type { Argument, HttpError } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import {
  checkedForm,
  formBody,
  inputsOf,
  jsonBody,
  observeValidations,
  queryValues,
  routeParameters,
  type Validation,
  type ValidationEnd,
} from '#kernel/argument-sources.ts'
import { defineController } from '#kernel/controller.ts'
import { UploadedFile } from '#lib/body/form-data.ts'
import type { StandardSchema } from '#lib/schema/standard-schema.ts'

interface Book {
  title: string
  pages: number
}

const isOpen = async (title: string) => title !== 'Closed'

/** The same schema of three libraries, synchronous and asynchronous. */
const books: Readonly<Record<string, StandardSchema<Book>>> = {
  valibot: v.object({ title: v.pipe(v.string(), v.minLength(3)), pages: v.pipe(v.number(), v.minValue(1)) }),
  'valibot, async': v.objectAsync({
    title: v.pipeAsync(v.string(), v.minLength(3), v.checkAsync(isOpen)),
    pages: v.pipe(v.number(), v.minValue(1)),
  }),
  zod: z.object({ title: z.string().min(3), pages: z.number().min(1) }),
  'zod, async': z.object({ title: z.string().min(3).refine(isOpen), pages: z.number().min(1) }),
  arktype: type({ title: 'string >= 3', pages: 'number >= 1' }),
}

const json = (value: unknown) => createRequest('/', { method: 'POST', json: value })

async function refusalOf(work: () => unknown): Promise<HttpError> {
  try {
    await work()
  } catch (error) {
    // The arguments of this file throw nothing else.
    return error as HttpError
  }
  throw new Error('It was accepted.')
}

interface Listed {
  readonly pointer?: string
  readonly parameter?: string
  readonly detail: string
}

const errorsOf = (error: HttpError) => error.members.errors as readonly Listed[]

for (const [name, schema] of Object.entries(books)) {
  t.test(`${name}: a JSON body has the value of the schema, or its issues with their pointers`, async t => {
    const book = jsonBody(schema)
    t.strictSame(await book(json({ title: 'Emma', pages: 3 })), { title: 'Emma', pages: 3 })
    const error = await refusalOf(() => book(json({ title: 'E', pages: 0 })))
    t.match(error, {
      code: 'KERNEL_INPUT_REFUSED',
      status: 422,
      message: /^The JSON body does not fit its schema: [^;]+ \((?:title|pages)\); /,
    })
    t.strictSame(
      errorsOf(error)
        .map(({ pointer }) => pointer)
        .toSorted(),
      ['#/pages', '#/title'],
    )
    t.ok(errorsOf(error).every(({ detail }) => detail.length > 5))
    t.strictSame(Object.keys(error.members), ['errors'])
  })
}

t.test('an asynchronous schema refuses, too', async t => {
  for (const name of ['valibot, async', 'zod, async']) {
    const [schema] = [books[name]].filter(found => found !== undefined)
    if (schema === undefined) throw new Error('There is no such schema.')
    const error = await refusalOf(() => jsonBody(schema)(json({ title: 'Closed', pages: 1 })))
    t.equal(errorsOf(error)[0]?.pointer, '#/title')
  }
})

t.test('the kind of the body is checked before the schema', async t => {
  const any = jsonBody(v.unknown())
  await t.rejects(async () => any(createRequest('/', { method: 'POST', form: { a: '1' } })), {
    code: 'BODY_TYPE_UNSUPPORTED',
  })
  await t.rejects(async () => any(createRequest('/', { method: 'POST' })), { code: 'BODY_JSON_INVALID' })
  const headers = { 'content-type': 'application/json' }
  await t.rejects(async () => any(createRequest('/', { method: 'POST', headers, body: '{' })), {
    code: 'BODY_JSON_INVALID',
  })
  await t.rejects(async () => formBody(v.unknown())(json({})), { code: 'BODY_TYPE_UNSUPPORTED' })
})

t.test('the fields of a form are texts, lists where several came, and files', async t => {
  const anything = formBody(v.custom<Record<string, unknown>>(() => true))
  const form = await anything(
    createRequest('/', {
      method: 'POST',
      form: { name: 'Ada', tag: ['a', 'b', 'c'], toString: 'x', constructor: 'y', ['__proto__']: 'z' },
    }),
  )
  t.equal(Object.getPrototypeOf(form), null)
  t.strictSame({ ...form }, { name: 'Ada', tag: ['a', 'b', 'c'], toString: 'x', constructor: 'y' })
  const upload = {
    name: 'Ada',
    cover: { name: 'a.png', type: 'image/png', content: 'abc' },
    second: { name: '', content: '' },
  }
  const sent = await anything(createRequest('/', { method: 'POST', upload }))
  t.strictSame(Object.keys(sent), ['name', 'cover'], 'a file that was not chosen is no field')
  t.ok(sent.cover instanceof UploadedFile)
  const empty = await anything(createRequest('/', { method: 'POST' }))
  t.strictSame(Object.keys(empty), [])
})

const oneOrMany = v.union([
  v.array(v.string()),
  v.pipe(
    v.string(),
    v.transform(text => [text]),
  ),
])

t.test('a schema takes one or several values of a name', async t => {
  const tags = queryValues(v.object({ tag: v.optional(oneOrMany, []) }))
  t.strictSame(tags(createRequest('/?tag=a&tag=b')), { tag: ['a', 'b'] })
  t.strictSame(tags(createRequest('/?tag=a')), { tag: ['a'] })
  t.strictSame(tags(createRequest('/')), { tag: [] })
})

t.test('a query names the parameter of each issue; brackets in a name have no meaning', async t => {
  const pages = queryValues(z.object({ page: z.coerce.number().int(), tag: z.array(z.string().max(2)).default([]) }))
  t.strictSame(pages(createRequest('/?page=2')), { page: 2, tag: [] }, 'no promise')
  const error = await refusalOf(() => pages(createRequest('/?page=x&tag=ab&tag=abc')))
  t.match(error, {
    code: 'KERNEL_INPUT_REFUSED',
    status: 422,
    message: /^The query does not fit its schema: [^;]+ \(page\); /,
  })
  t.strictSame(
    errorsOf(error).map(({ parameter, pointer }) => [parameter, pointer]),
    [
      ['page', undefined],
      ['tag', undefined],
    ],
  )
  const strict = await refusalOf(() => queryValues(z.strictObject({}))(createRequest('/?a[b]=1')))
  t.strictSame(errorsOf(strict), [{ detail: 'Unrecognized key: "a[b]"' }], 'without a path there is no parameter')
})

t.test('a route whose parameters are refused does not exist', async t => {
  const at = routeParameters(type({ id: 'string.integer.parse', lang: "'de' | 'en'" }))
  const withParameters = (parameters: Record<string, unknown>) =>
    createRequest('/', { attributes: { _route_params: { ...parameters, _format: 'json' } } })
  t.match(at(withParameters({ id: '7', lang: 'de' })), { id: 7, lang: 'de' })
  const error = await refusalOf(() => at(withParameters({ id: '7', lang: 'fr' })))
  t.match(error, {
    code: 'KERNEL_ROUTE_REFUSED',
    status: 404,
    message: 'The parameters of the route do not fit their schema: lang must be "de" or "en" (was "fr") (lang)',
  })
  t.strictSame(errorsOf(error), [{ parameter: 'lang', detail: 'lang must be "de" or "en" (was "fr")' }])
  t.match(await refusalOf(() => at(createRequest('/'))), { status: 404 }, 'a request without a route has none')
})

t.test('an argument without a schema is refused when it is declared', async t => {
  // As in JavaScript, and in TypeScript that nothing has checked.
  const declare: readonly [name: string, argument: (schema: never) => unknown][] = Object.entries({
    checkedForm,
    formBody,
    jsonBody,
    queryValues,
    routeParameters,
  })
  for (const [name, argument] of declare) {
    for (const [value, text] of [
      [undefined, 'undefined'],
      [{ title: 'string' }, 'an object with the key "title"'],
      [{ '~standard': { version: 1 } }, 'an object with the key "~standard"'],
    ] as const) {
      t.throws(() => argument(value as never), {
        code: 'KERNEL_SCHEMA_INVALID',
        message: new RegExp(`^${name}\\(\\) .*got ${text}`),
      })
    }
  }
})

t.test('more than 50 issues are counted', async t => {
  const numbers = jsonBody(v.array(v.number()))
  const error = await refusalOf(() => numbers(json(Array(60).fill('x'))))
  t.equal(errorsOf(error).length, 50)
  t.equal(error.members.omitted, 10)
  t.match(error.message, /; and 57 more$/)
})

t.test('no message quotes a password', async t => {
  const login = { name: 'string', password: 'string.email' } as const
  const schemas: readonly StandardSchema[] = [
    type(login),
    v.object({ name: v.string(), password: v.pipe(v.string(), v.email()) }),
    v.pipe(
      v.object({ name: v.string(), password: v.string() }),
      v.check(
        () => false,
        ({ input }) => `${input.name} may not use ${input.password}`,
      ),
    ),
    v.object({ name: v.string(), password: v.number() }),
    z.object({ name: z.string(), password: z.string().refine(() => false, { error: ({ input }) => `not ${input}` }) }),
  ]
  for (const schema of schemas) {
    const error = await refusalOf(() => jsonBody(schema)(json({ name: 'Ada', password: 'hunter2' })))
    t.notMatch(`${error.message}${JSON.stringify(error.members)}`, 'hunter2')
    t.match(error.message, '******')
  }
})

t.test('a form that is checked gives its issues by field, and its texts', async t => {
  const contact = checkedForm(
    v.pipe(
      v.object({
        name: v.pipe(v.string(), v.minLength(2, 'Please enter your name.'), v.regex(/^\D+$/, 'No digits, please.')),
        topics: v.optional(oneOrMany, []),
        picture: v.optional(v.instance(UploadedFile)),
      }),
      v.check(({ name }) => name !== 'Eve', 'Eve has written enough.'),
    ),
  )
  const post = (upload: Record<string, string | readonly string[] | { name: string; content: string }>) =>
    contact(createRequest('/', { method: 'POST', upload }))
  const accepted = await post({ name: 'Ada', topics: 'code' })
  t.strictSame(
    { ...accepted },
    { value: { name: 'Ada', topics: ['code'] }, issues: undefined, values: accepted.values },
  )
  t.strictSame({ ...accepted.values }, { name: 'Ada', topics: 'code' }, 'for a form that is refused by other reasons')
  const refused = await post({ name: '1', topics: ['a', 'b'], picture: { name: 'a.png', content: 'abc' } })
  if (refused.issues === undefined) throw new Error('It was accepted.')
  t.strictSame({ ...refused.issues }, { name: ['Please enter your name.', 'No digits, please.'] })
  t.strictSame({ ...refused.values }, { name: '1', topics: ['a', 'b'] }, 'a file cannot be shown again')
  const whole = await post({ name: 'Eve' })
  t.strictSame({ ...whole.issues }, { '': ['Eve has written enough.'] })
})

t.test('the values have the types of the schemas', async t => {
  const controller = defineController(
    'typed',
    {
      body: jsonBody(z.object({ at: z.coerce.date() })),
      query: queryValues(v.object({ page: v.pipe(v.string(), v.transform(Number)) })),
      route: routeParameters(type({ id: 'string.integer.parse' })),
    },
    ({ body: { at }, query: { page }, route: { id } }) => at.getTime() + page + id,
  )
  t.equal(controller.name, 'typed')
  // A body is JSON or a form, never both.
  const ofForm = defineController('typed form', { form: checkedForm(z.object({ name: z.string() })) }, ({ form }) =>
    form.issues === undefined ? form.value.name.trim() : Object.keys(form.values),
  )
  t.equal(ofForm.name, 'typed form')
})

t.test('observers see each validation with its end, until they are removed', async t => {
  const seen: [Validation['source'], string, unknown, ValidationEnd | undefined][] = []
  const stopOther = observeValidations(() => undefined)
  const stop = observeValidations(({ input, schema, source }) => {
    const entry: (typeof seen)[number] = [source, schema['~standard'].vendor, input, undefined]
    seen.push(entry)
    return end => {
      entry[3] = end
    }
  })
  const failing = (validate: () => never | Promise<never>): Argument =>
    jsonBody({ '~standard': { version: 1, vendor: 'own', validate } })
  const error = new Error('The schema has a mistake.')
  await jsonBody(v.number())(json(5))
  await refusalOf(() => jsonBody(z.string())(json(5)))
  const thrown = failing(() => {
    throw error
  })
  const rejected = failing(() => Promise.reject(error))
  t.equal(await refusalOf(() => thrown(json(1))), error, 'an error of the schema is not an issue')
  t.equal(await refusalOf(() => rejected(json(2))), error)
  stop()
  await jsonBody(v.number())(json(6))
  stopOther()
  await jsonBody(v.number())(json(7))
  const issues = { issues: [{ path: [], message: 'Invalid input: expected string, received number' }], omitted: 0 }
  t.strictSame(seen, [
    ['json', 'valibot', 5, {}],
    ['json', 'zod', 5, { issues }],
    ['json', 'own', 1, { error }],
    ['json', 'own', 2, { error }],
  ])
})

t.test('a route knows the schemas of its inputs, in the order of its sources', async t => {
  const schema = v.object({ id: v.string() })
  const sources = [
    [routeParameters(schema), 'route'],
    [queryValues(schema), 'query'],
    [jsonBody(schema), 'json'],
    [formBody(schema), 'form'],
    [checkedForm(schema), 'form'],
  ] as const
  for (const [argument, source] of sources) {
    const controller = defineController('item', { none: () => 'none', input: argument }, () => undefined)
    const [input, ...others] = inputsOf({ controller })
    t.equal(input?.source, source)
    t.equal(input?.schema, schema)
    t.strictSame(others, [], 'only sources with schemas are inputs')
  }
  const both = defineController('item', { query: queryValues(schema), route: routeParameters(schema) }, () => undefined)
  t.strictSame(
    inputsOf({ controller: both }).map(({ source }) => source),
    ['query', 'route'],
  )
  t.strictSame(inputsOf({ controller: () => 'a function' }), [])
})
