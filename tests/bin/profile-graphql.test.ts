import { tracingChannel } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { t } from 'tap'
import { recordServer } from '#tests/support/record-server.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** A line ends with the name of the field whose resolver it belongs to. */
const application = `
import { createServer } from 'node:http'
import { GraphQLError, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString, defaultFieldResolver, graphql, printSchema } from 'graphql'

const backend = createServer((message, reply) => reply.end('{"name":"Ada"}')).listen(0, '127.0.0.1')
const read = async path => {
  const { port } = backend.address()
  return (await fetch('http://127.0.0.1:' + port + path)).json() // read
}
const type = GraphQLString
const Author = new GraphQLObjectType({ name: 'Author', fields: { name: { type } } })
const own = {
  author: async ({ id }) => await read('/authors/' + id),
  late: async function late({ id }, args, context, info) {
    await null
    if (id > 2) throw new RangeError('Late ' + id) // late
  },
  broken({ id }) { if (id === 1) throw new TypeError('password=hunter22') }, // broken
  loaded: ({ id }, args, context) => (context.loaded ??= Promise.resolve().then(() => read('/authors?all'))),
  lazy: () => ({ then(onValue) { return Promise.resolve('lazy').then(onValue) } }),
  refused() { throw new GraphQLError('Refused.', { extensions: { code: 'NO' } }) },
  missing: () => null,
}
const fields = {
  plain: { type, resolve: defaultFieldResolver },
  author: { type: Author, resolve: own.author },
  late: { type, resolve: own.late },
  broken: { type, resolve: own.broken },
  loaded: { type: Author, resolve: own.loaded },
  lazy: { type, resolve: own.lazy },
  refused: { type, resolve: own.refused },
  missing: { type: new GraphQLNonNull(type), resolve: own.missing },
}
const Book = new GraphQLObjectType({ name: 'Book', fields })
const books = { type: new GraphQLList(Book), args: { count: { type } }, resolve: (_, { count }) => Array.from({ length: count }, (_, id) => ({ id, plain: 'p' })) }
const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields: { books } }) })
const printed = printSchema(schema)
const seen = () => Object.entries(Book.getFields()).map(([name, { resolve }]) => [
  resolve.name === own[name]?.name || name === 'plain' && resolve === defaultFieldResolver,
  resolve.length === (own[name] ?? resolve).length,
])
const server = createServer(async (message, reply) => {
  const count = new URL(message.url, 'http://a').searchParams.get('count')
  if (message.url === '/schema') return reply.end(JSON.stringify([printed === printSchema(schema), seen().flat().every(Boolean)]))
  if (message.url === '/wrapped') {
    const { resolve } = schema.getQueryType().getFields().books
    const wrapped = { ...books, resolve: async (...values) => { await null; return resolve(...values) } }
    const outer = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields: { books: wrapped } }) })
    return reply.end(JSON.stringify(await graphql({ schema: outer, source: '{ books(count: "2") { lazy } }' })))
  }
  if (message.url === '/plain') return read('/none').then(() => reply.end())
  let body = ''
  for await (const chunk of message) body += chunk
  const { query: source } = JSON.parse(body)
  const result = await graphql({ schema, source, contextValue: {}, variableValues: { count } })
  const stacks = result.errors?.map(({ originalError }) => originalError?.stack) ?? []
  reply.setHeader('x-own', String(stacks.some(stack => /guardedCall|libraries/.test(stack))))
  reply.setHeader('content-type', 'application/json').end(JSON.stringify(result))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

interface Fields {
  readonly fields: readonly { readonly name: string; readonly count: number; readonly failed: number }[]
  readonly calls: readonly { readonly path: string; readonly end?: number; readonly hasFailed?: true }[]
  readonly omitted: number
}

const lineOf = (mark: string) => application.split('\n').findIndex(line => line.endsWith(`// ${mark}`)) + 1

t.test('the fields of a query are seen, with their errors and the work of their resolvers', async t => {
  const { url, viewer, stop } = await startProfiled(t, application)
  const ask = async (field: string, count = 3) => {
    const [name] = /^\w+/.exec(field) ?? []
    const query = `query ${name}($count: String) { books(count: $count) { ${field} } }`
    const response = await fetch(`${url}/?count=${count}&of=${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    t.equal(response.headers.get('x-own'), 'false', 'stacks have no frame of the profiler')
    const body = await response.text()
    const profile = await findProfile(viewer, `of=${name}`)
    return { body, profile, ...(profile.data.graphql as unknown as Fields) }
  }
  const countsOf = ({ fields }: Fields) => fields.map(({ count, failed, name }) => `${name} ${count} ${failed}`)

  await t.test('by their paths, without default resolvers', async t => {
    const { calls, fields, omitted } = await ask('plain lazy')
    t.strictSame(countsOf({ calls, fields, omitted }), ['Query.books 1 0', 'Book.lazy 3 0'])
    t.strictSame(
      calls.map(({ end, path }) => [path, end !== undefined]),
      ['books', 'books.0.lazy', 'books.1.lazy', 'books.2.lazy'].map(path => [path, true]),
    )
  })

  await t.test('N+1 names the field and the line; one call for all is none', async t => {
    const { profile } = await ask('author { name }', 12)
    const json = await (await fetch(`${viewer}/_profiler/${profile.summary.token}.json`)).json()
    const { findings } = json as {
      readonly findings: readonly { readonly rule: string; readonly problem: string; readonly advice: string }[]
    }
    const [found] = findings.filter(({ rule }) => rule === 'repeated-calls')
    t.match(found?.problem, /^N\+1: 12 similar calls to .+ in Book\.author, /)
    t.match(found?.advice, new RegExp(`app\\.mjs:${lineOf('read')}`))
    const calls = profile.data.http?.calls as readonly { readonly field: string }[]
    t.strictSame([...new Set(calls.map(({ field }) => field))], ['Book.author'])
    const loaded = await ask('loaded { name }', 12)
    t.strictSame(countsOf(loaded), ['Query.books 1 0', 'Book.loaded 12 0'])
    const rest = await (await fetch(`${viewer}/_profiler/${loaded.profile.summary.token}.json`)).json()
    t.strictSame((rest as { readonly findings: readonly unknown[] }).findings, [])
    await fetch(`${url}/plain`)
    const plain = await findProfile(viewer, '/plain')
    t.match(plain.data.http?.calls, [{ field: undefined }], 'a later request has no field')
    t.equal(plain.data.graphql, undefined)
  })

  await t.test('an error has its source, and is masked; of a list, the first one is listed', async t => {
    const errors: unknown[] = []
    for (const field of ['broken', 'late', 'refused', 'missing']) {
      const { profile, ...fields } = await ask(field, 6)
      const { exceptions } = profile.data.exception as unknown as {
        readonly exceptions: readonly {
          readonly name: string
          readonly message: string
          readonly frames: readonly { readonly file?: string; readonly line?: number }[]
        }[]
      }
      const [{ frames = [], message, name } = { name: '', message: '' }] = exceptions
      const [{ file, line } = {}] = frames
      errors.push([exceptions.length, name, message, file === 'app.mjs' && line, countsOf(fields).at(-1)])
      t.equal(
        profile.summary.operationErrors,
        profile.summary.url.includes('missing') ? 6 : Number(/\d$/.exec(String(countsOf(fields).at(-1)))?.[0]),
      )
    }
    t.strictSame(errors, [
      [1, 'TypeError', 'password=******', lineOf('broken'), 'Book.broken 6 1'],
      [1, 'RangeError', 'Late 3', lineOf('late'), 'Book.late 6 3'],
      [1, 'GraphQLError', 'Refused.', lineOf('broken') + 3, 'Book.refused 6 6'],
      [1, 'Error', 'Cannot return null for non-nullable field Book.missing.', false, 'Book.missing 6 0'],
    ])
  })

  await t.test('many calls are counted; those that failed are listed', async t => {
    const { calls, fields, omitted } = await ask('late', 2000)
    t.strictSame(countsOf({ calls, fields, omitted }), ['Query.books 1 0', 'Book.late 2000 1997'])
    t.strictSame([calls.length, omitted, calls.filter(({ hasFailed }) => hasFailed).length > 100], [150, 1851, true])
  })

  await t.test('a resolver that calls the one of another schema is one resolution', async t => {
    await fetch(`${url}/wrapped`)
    const { data } = await findProfile(viewer, '/wrapped')
    t.strictSame(countsOf(data.graphql as unknown as Fields), ['Query.books 1 0', 'Book.lazy 2 0'])
  })

  await t.test('the schema stays as it is', async t => {
    t.strictSame(await (await fetch(`${url}/schema`)).json(), [true, true])
  })
  await stop()
})

t.test('the channel of version 17 reports the calls of resolvers', async t => {
  const channel = tracingChannel<object, object>('graphql:resolve')
  /** As version 17 publishes it. */
  const resolve = (fieldName: string, fieldPath: string, work: () => unknown, isDefaultResolver = false) => {
    const message: Record<string, unknown> = { fieldName, fieldPath, parentType: 'Book', isDefaultResolver }
    return channel.start.runStores(message, () => {
      try {
        const result = work()
        if (result instanceof Promise) {
          channel.end.publish(message)
          return result.then(
            value => {
              channel.asyncEnd.publish(Object.assign(message, { result: value }))
            },
            error => {
              channel.asyncEnd.publish(Object.assign(message, { error }))
            },
          )
        }
        message.result = result
      } catch (error) {
        message.error = error
      }
      channel.end.publish(message)
      return undefined
    })
  }
  const server = createServer(async (_, reply) => {
    resolve('title', 'books.0.title', () => 'a')
    resolve('id', 'books.0.id', () => 1, true)
    resolve('broken', 'books.0.broken', () => {
      throw new Error('It is broken.')
    })
    await resolve('late', 'books.0.late', () => nextTurn(1))
    await resolve('author', 'books.0.author', () => Promise.reject(new Error('There is none.')))
    reply.end()
  })
  const { port, profileOf } = await recordServer(t, server)
  await (await fetch(`http://127.0.0.1:${port}/all`)).text()
  const { calls = [], fields = [] } = (await profileOf('/all')).collectors.graphql ?? {}
  t.strictSame(
    fields.map(({ count, failed, name }) => [name, count, failed]),
    [
      ['Book.title', 1, 0],
      ['Book.broken', 1, 1],
      ['Book.late', 1, 0],
      ['Book.author', 1, 1],
    ],
  )
  t.ok(calls.every(({ end }) => end !== undefined))
})
