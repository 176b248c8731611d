import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { listProfiles, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const nest = [
  '@nestjs/common@11',
  '@nestjs/core@11',
  '@nestjs/platform-express@11',
  '@nestjs/graphql@13',
  '@nestjs/apollo@13',
]
const servers = ['graphql-yoga@5', '@apollo/server@5', '@as-integrations/express5@1', 'mercurius@16', 'graphql-http@1']
const others = [
  '@trpc/server@11',
  '@modelcontextprotocol/sdk@1',
  '@connectrpc/connect@2',
  '@connectrpc/connect-node@2',
  '@bufbuild/protobuf@2',
]
const shared = ['express@5', 'fastify@5', 'dataloader@2', 'zod@4', 'reflect-metadata', 'rxjs@7']

/** One schema in each server of GraphQL; they print their ports in the order of the names below. */
const schema = `
import { createServer } from 'node:http'
import DataLoader from 'dataloader'
import { GraphQLError, GraphQLID, GraphQLList, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql'

const backend = createServer((message, reply) => reply.end('{"name":"Ada"}')).listen(0, '127.0.0.1')
const read = async path => (await fetch('http://127.0.0.1:' + backend.address().port + path)).json()
const loaders = new WeakMap()
const load = (key, id) => {
  if (!loaders.has(key)) loaders.set(key, new DataLoader(async ids => (await read('/authors?ids=' + ids), ids.map(() => ({ name: 'Ada' })))))
  return loaders.get(key).load(id)
}
const resolvers = {
  Query: { books: () => Array.from({ length: 12 }, (_, id) => ({ id })), boom() { throw new TypeError('No books, password=hunter22.') } },
  Book: {
    author: book => read('/authors/' + book.id),
    loaded: (book, args, context, info) => load(info.operation, book.id),
    odd: async book => { await null; if (book.id === 7) throw new RangeError('Odd.') },
  },
  Subscription: { ticks: { async *subscribe() { yield { ticks: 'a' }; yield { ticks: 'b' } }, resolve({ ticks }) { if (ticks === 'b') throw new GraphQLError('Stopped.'); return ticks } } },
}
const type = GraphQLString
const Author = new GraphQLObjectType({ name: 'Author', fields: { name: { type } } })
const Book = new GraphQLObjectType({ name: 'Book', fields: {
  id: { type: GraphQLID }, author: { type: Author, resolve: resolvers.Book.author }, loaded: { type: Author, resolve: resolvers.Book.loaded }, odd: { type, resolve: resolvers.Book.odd },
} })
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { books: { type: new GraphQLList(Book), resolve: resolvers.Query.books }, boom: { type, resolve: resolvers.Query.boom } } }),
  subscription: new GraphQLObjectType({ name: 'Subscription', fields: { ticks: { type, ...resolvers.Subscription.ticks } } }),
})
const ports = []
const listen = server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(ports.push(server.address().port))))
const finish = () => {
  process.stdout.write(JSON.stringify(ports) + '\\n')
  process.stdin.on('end', () => process.exit()).resume()
}
`

const yoga = `
import { createYoga } from 'graphql-yoga'
await listen(createServer(createYoga({ schema, logging: false, batching: true, graphqlEndpoint: '/' })))
`
const graphqlHttp = `
import { createHandler } from 'graphql-http/lib/use/http'
await listen(createServer(createHandler({ schema, context: () => ({}) })))
`
const rest = `
import { ApolloServer } from '@apollo/server'
import { expressMiddleware } from '@as-integrations/express5'
import { ApolloDriver } from '@nestjs/apollo'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { GraphQLModule, Info, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import express from 'express'
import Fastify from 'fastify'
import mercurius from 'mercurius'

const apollo = new ApolloServer({ schema, allowBatchedHttpRequests: true })
await apollo.start()
await listen(createServer(express().use(express.json()).use(expressMiddleware(apollo))))
const fastify = Fastify()
fastify.register(mercurius, { schema, path: '/' })
await fastify.listen({ host: '127.0.0.1', port: 0 })
ports.push(fastify.server.address().port)

class Books {
  books() { return resolvers.Query.books() }
  boom() { return resolvers.Query.boom() }
  author(book) { return resolvers.Book.author(book) }
  loaded(book, info) { return load(info.operation, book.id) }
  odd(book) { return resolvers.Book.odd(book) }
}
const decorate = (name, ...decorators) => {
  for (const each of decorators) each(Books.prototype, name, Object.getOwnPropertyDescriptor(Books.prototype, name))
}
for (const name of ['books', 'boom']) decorate(name, Query(name))
for (const name of ['author', 'loaded', 'odd']) {
  decorate(name, ResolveField(name))
  Parent()(Books.prototype, name, 0)
}
Info()(Books.prototype, 'loaded', 1)
Resolver('Book')(Books)
class App {}
const typeDefs = 'type Author { name: String } type Book { id: ID author: Author loaded: Author odd: String } type Query { books: [Book] boom: String }'
Module({ imports: [GraphQLModule.forRoot({ driver: ApolloDriver, typeDefs, path: '/' })], providers: [Books] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(0, '127.0.0.1')
ports.push(app.getHttpServer().address().port)
`

/** tRPC, MCP and Connect. */
const calls = `
import { createServer } from 'node:http'
import { create, toBinary } from '@bufbuild/protobuf'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { initTRPC, TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { z } from 'zod'

const ports = []
const listen = server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(ports.push(server.address().port))))
const t = initTRPC.create()
const byId = t.procedure.input(z.number()).query(({ input }) => { if (input > 5) throw new TRPCError({ code: 'NOT_FOUND', message: 'No user ' + input }); return input })
const ticks = t.procedure.subscription(async function* () { yield 1 })
await listen(createHTTPServer({ router: t.router({ user: t.router({ byId }), ticks }) }))
await listen(createServer(async (message, reply) => {
  const server = new McpServer({ name: 'a', version: '1' })
  server.registerTool('search', { inputSchema: { q: z.string() } }, () => { throw new Error('No index.') })
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  await transport.handleRequest(message, reply)
}))
const value = '.google.protobuf.StringValue'
const method = [{ name: 'Get', inputType: value, outputType: value }, { name: 'Watch', inputType: value, outputType: value, serverStreaming: true }]
const proto = create(FileDescriptorProtoSchema, { name: 'shop.proto', package: 'shop.v1', syntax: 'proto3', dependency: ['google/protobuf/wrappers.proto'], service: [{ name: 'Orders', method }] })
const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, proto)).toString('base64')
const Orders = serviceDesc(fileDesc(bytes, [file_google_protobuf_wrappers]), 0)
const get = () => { throw new ConnectError('no order', Code.NotFound) }
async function* watch() { yield { value: 'a' }; throw new ConnectError('lost', Code.DataLoss) }
await listen(createServer(connectNodeAdapter({ routes: router => router.service(Orders, { get, watch }) })))
process.stdout.write(JSON.stringify(ports) + '\\n')
process.stdin.on('end', () => process.exit()).resume()
`

/** tRPC of CommonJS. */
const required = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const { initTRPC } = require('@trpc/server')
const { createHTTPServer } = require('@trpc/server/adapters/standalone')
const t = initTRPC.create()
const byId = t.procedure.query(async function find() { throw new RangeError('No user') })
const server = createHTTPServer({ router: t.router({ byId }) }).listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

/** A folder with packages, which is removed with the test. */
async function install(t: Test, packages: readonly string[]): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'operations-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), '{}')
  const npm = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', ...packages]
  const { code, stderr } = await runProcess(t, npm, { cwd: folder })
  t.equal(code, 0, 'the packages are installed', { stderr })
  return folder
}

interface Finding {
  readonly rule: string
  readonly problem: string
}

type Running = Awaited<ReturnType<typeof startProfiled>>

/** Sends a request, and returns its profile when it is complete. */
async function ask({ viewer }: Running, port: number | undefined, target: string, init: RequestInit) {
  const response = await fetch(`http://127.0.0.1:${port}${target}`, init)
  const body = await response.text().catch(() => '')
  const token = String(response.headers.get('x-debug-token'))
  await until(
    async () => (await listProfiles(viewer)).some(each => each.token === token && each.outcome === 'complete'),
    20,
  )
  const profile = await readProfile(viewer, token)
  return {
    body,
    summary: profile.summary,
    data: profile.data,
    findings: (profile as unknown as { readonly findings: readonly Finding[] }).findings,
  }
}

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

/** Asks a server of GraphQL, and checks what is recorded. */
async function checkServer(t: Test, running: Running, port: number | undefined) {
  const query = (name: string, fields: string) =>
    ask(running, port, '/', post({ query: `query ${name} { ${fields} }` }, { accept: 'application/json' }))
  const results: unknown[] = []
  for (const [name, fields] of [
    ['Eager', 'books { author { name } }'],
    ['Loaded', 'books { loaded { name } }'],
    ['Odd', 'books { odd }'],
    ['Boom', 'boom'],
  ] as const) {
    const { body, data, findings, summary } = await query(name, fields)
    const { fields: counted = [] } = data.graphql as { readonly fields?: readonly Readonly<Record<string, unknown>>[] }
    const { exceptions = [] } = (data.exception ?? {}) as {
      readonly exceptions?: readonly {
        readonly message: string
        readonly frames: readonly { readonly file?: string }[]
      }[]
    }
    results.push([
      summary.operation,
      summary.operationErrors,
      counted.map(({ count, failed, name }) => `${name} ${count} ${failed}`).join(', '),
      findings
        .filter(({ rule }) => rule === 'repeated-calls')
        .map(({ problem }) => / in ([\w.]+)/.exec(problem)?.[1])
        .join(),
      exceptions.map(({ frames, message }) => `${frames[0]?.file}: ${message}`).join(),
    ])
    t.notMatch(body, /guardedCall|bundles\/libraries/, 'the response has no frame of the profiler')
  }
  t.strictSame(results, [
    ['query Eager', 0, 'Query.books 1 0, Book.author 12 0', 'Book.author', ''],
    ['query Loaded', 0, 'Query.books 1 0, Book.loaded 12 0', '', ''],
    ['query Odd', 1, 'Query.books 1 0, Book.odd 12 1', '', 'app.mjs: Odd.'],
    ['query Boom', 1, 'Query.boom 1 1', '', 'app.mjs: No books, password=******'],
  ])
}

t.test('servers of GraphQL 16: operations, fields, N+1 and errors', { skip: noRegistry }, async t => {
  const cwd = await install(t, ['graphql@16', ...servers, ...nest, ...shared])
  const running = await startProfiled(t, `${schema + yoga + graphqlHttp + rest}finish()\n`, {}, cwd)
  for (const [index, name] of ['Yoga', 'graphql-http', 'Apollo', 'Mercurius', 'Nest'].entries())
    await t.test(name, t => checkServer(t, running, running.ports[index]))
  await t.test('subscriptions, batches and forms of Yoga', async t => {
    const [port] = running.ports
    const ticks = await ask(
      running,
      port,
      '/',
      post({ query: 'subscription Ticks { ticks }' }, { accept: 'text/event-stream' }),
    )
    const batch = await ask(
      running,
      port,
      '/',
      post([{ query: 'query A { boom }' }, { query: 'query B { books { id } }' }]),
    )
    const form = new globalThis.FormData()
    form.set('operations', JSON.stringify({ query: 'query Form { books { id } }' }))
    form.set('map', '{}')
    const upload = await ask(running, port, '/', { method: 'POST', body: form })
    t.strictSame(
      [ticks, batch, upload].map(({ summary }) => [summary.operation, summary.operationErrors]),
      [
        ['subscription Ticks', 1],
        ['query A, query B', 1],
        ['query Form', 0],
      ],
    )
  })
  await running.stop()
})

for (const [name, source, packages] of [
  ['its own executor', graphqlHttp, ['graphql-http@1']],
  ['the executor of Yoga beside it', graphqlHttp + yoga, ['graphql-http@1', 'graphql-yoga@5']],
] as const) {
  t.test(`GraphQL 17: ${name}`, { skip: noRegistry }, async t => {
    const cwd = await install(t, ['graphql@17', 'dataloader@2', ...packages])
    const running = await startProfiled(t, `${schema + source}finish()\n`, {}, cwd)
    for (const port of running.ports) await checkServer(t, running, port)
    await running.stop()
  })
}

t.test('tRPC, MCP and Connect: operations and their errors', { skip: noRegistry }, async t => {
  const cwd = await install(t, [...others, 'zod@4'])
  const running = await startProfiled(t, calls, {}, cwd)
  const [trpc, mcp, connect] = running.ports
  const call = (name: string) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { q: 'a' } },
  })
  const order = Buffer.from([0, 0, 0, 0, 3, 10, 1, 49]).toString('latin1')
  const connected = { 'connect-protocol-version': '1' }
  const asked = [
    await ask(running, trpc, '/user.byId?input=9', {}),
    await ask(running, trpc, '/user.byId,user.byId?batch=1&input=%7B%220%22:1,%221%22:9%7D', {}),
    await ask(running, trpc, '/user.byId,user.byId?batch=1&input=%7B%220%22:1,%221%22:9%7D', {
      headers: { 'trpc-accept': 'application/jsonl' },
    }),
    await ask(running, trpc, '/ticks', {}),
    await ask(running, mcp, '/mcp', post(call('search'))),
    await ask(running, mcp, '/mcp', post({ jsonrpc: '2.0', id: 1, method: 'tools/none' })),
    await ask(running, connect, '/shop.v1.Orders/Get', post('"1"', connected)),
    await ask(running, connect, '/shop.v1.Orders/Get', post(order, { 'content-type': 'application/grpc-web+proto' })),
    await ask(
      running,
      connect,
      '/shop.v1.Orders/Watch',
      post(order, { 'content-type': 'application/connect+proto', ...connected }),
    ),
  ]
  t.strictSame(
    asked.map(({ summary }) => [summary.operation, summary.operationErrors]),
    [
      ['query user.byId', 1],
      ['query user.byId (2 in all)', 1],
      ['query user.byId (2 in all)', 1],
      ['subscription ticks', 0],
      ['tools/call search', 1],
      ['tools/none', 1],
      ['shop.v1.Orders/Get', 1],
      ['shop.v1.Orders/Get', 1],
      ['shop.v1.Orders/Watch', 1],
    ],
  )
  await running.stop()
  const commonjs = await startProfiled(t, required, {}, cwd)
  const { data } = await ask(commonjs, commonjs.ports[0], '/byId', {})
  t.match(data.exception, {
    exceptions: [{ name: 'RangeError', frames: [{ call: 'find', file: 'app.mjs', line: 7 }] }],
  })
  await commonjs.stop()
})
