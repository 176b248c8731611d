import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, createServer } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { Response } from '#lib/http/response.ts'
import { findPort } from '#tests/support/find-port.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'

async function listen(t: Test): Promise<string> {
  const server = createServer().on('stream', (stream, { ':path': path = '' }) => {
    stream.on('error', () => undefined)
    if (path === '/reset') return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    if (path === '/head') return stream.respond({ ':status': 204 }, { endStream: true })
    stream.respond({ ':status': path === '/missing' ? 404 : 200, 'content-type': 'text/plain' })
    // The client closes it.
    return path === '/endless' ? stream.write('begin') : stream.end(path)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Makes a call, and returns the events of its stream. */
async function call(session: ClientHttp2Session, path: string): Promise<string[]> {
  const stream = session.request({ ':path': path, password: 'secret' })
  const events: string[] = []
  for (const name of ['ready', 'finish', 'response', 'end', 'aborted', 'error', 'close'])
    stream.on(name, (value: unknown) => void events.push(value instanceof Error ? `${name} ${value.message}` : name))
  stream.on('data', () => path === '/endless' && stream.close(constants.NGHTTP2_CANCEL))
  await new Promise(resolve => stream.on('close', resolve))
  return events
}

const paths = ['/plain', '/missing', '/head', '/reset', '/endless']

async function callAll(url: string): Promise<readonly string[][]> {
  const session = connect(url)
  const events: string[][] = []
  for (const path of paths) events.push(await call(session, path))
  session.close()
  return events
}

t.test('calls of node:http2 are recorded with their ends, and have the same events', async t => {
  const url = await listen(t)
  const before = await callAll(url)
  let during: readonly string[][] = []
  const { profile } = await profilePage(t, async () => {
    during = await callAll(url)
    return Response.text('done')
  })
  t.strictSame(during, before)
  const calls = profile.collectors.http?.calls ?? []
  t.strictSame(
    calls.map(({ client, error, isAborted, method, status, url: called }) => ({
      ...{ client, method, called: called.replace(url, ''), status },
      ...(error !== undefined && { error, isAborted }),
    })),
    [
      { client: 'node:http2', method: 'GET', called: '/plain', status: 200 },
      { client: 'node:http2', method: 'GET', called: '/missing', status: 404 },
      { client: 'node:http2', method: 'GET', called: '/head', status: 204 },
      {
        ...{ client: 'node:http2', method: 'GET', called: '/reset', status: undefined },
        ...{ error: 'Stream closed with error code NGHTTP2_INTERNAL_ERROR', isAborted: undefined },
      },
      {
        ...{ client: 'node:http2', method: 'GET', called: '/endless', status: 200 },
        ...{ error: 'The response was cut off.', isAborted: true },
      },
    ],
  )
  t.match(calls[0], { caller: { function: 'call' }, request: { headers: [['password', '******']] } })
  t.match(calls[0]?.response?.content, { text: '/plain' })
})

t.test('calls of node:http2 of one connection belong to their requests', async t => {
  const session = connect(await listen(t))
  t.teardown(() => session.close())
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async ({ query }) => {
        await call(session, `/of-${query.get('of')}`)
        return Response.text('done')
      },
    },
  })
  const found = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async of => {
      const { http } = (await kernel.profileOf(await kernel.client.get(`/page?of=${of}`))).collectors
      return http?.calls.map(each => new URL(each.url).pathname)
    }),
  )
  t.strictSame(found, [['/of-a'], ['/of-b'], ['/of-c'], ['/of-d']])
})

t.test('a call of node:http2 without a connection has failed', async t => {
  const url = `http://127.0.0.1:${await findPort()}`
  const { profile } = await profilePage(t, async () => {
    const session = connect(url).on('error', () => undefined)
    const stream = session.request({ ':path': '/' })
    return Response.text(await text(stream).catch(String))
  })
  t.match(profile.collectors.http?.calls, [{ error: /ECONNREFUSED/, isAborted: undefined }])
})

/** A class of grpc-js: a call waits in a queue, and goes on when another call has opened the connection. */
const toQueue = (name: string, method: string) => `
const queue = []
exports.${name} = class {
  constructor(work) { this.work = work }
  start() { queue.push(this) }
  ${method}() { this.work() }
  static flush() { for (const call of queue.splice(0)) call.${method}() }
}`

interface QueuedCall {
  new (work: () => void): { start(): void }
  flush(): void
}

const queues = {
  ResolvingCall: ['resolving-call.js', 'getConfig'],
  LoadBalancingCall: ['load-balancing-call.js', 'doPick'],
}

for (const [name, [file = '', method = '']] of Object.entries(queues)) {
  t.test(`calls of gRPC that wait for a connection belong to their requests: ${name}`, async t => {
    const directory = t.testdir({
      'package.json': '{ "dependencies": { "@grpc/grpc-js": "1" } }',
      node_modules: {
        '@grpc': { 'grpc-js': { 'package.json': '{}', build: { src: { [file]: toQueue(name, method) } } } },
      },
    })
    await openLibraries(directory)
    const Queued: QueuedCall = createRequire(`${directory}/`)(`@grpc/grpc-js/build/src/${file}`)[name]
    const session = connect(await listen(t))
    t.teardown(() => session.close())
    const kernel = await createProfiledKernel(t, {
      handlers: {
        '/page': async ({ query }) => {
          const of = query.get('of')
          const done = new Promise(resolve => new Queued(() => resolve(call(session, `/of-${of}`))).start())
          if (of === 'last') Queued.flush()
          await done
          return Response.text('done')
        },
      },
    })
    const found = await Promise.all(
      ['first', 'last'].map(async of => {
        const { http } = (await kernel.profileOf(await kernel.client.get(`/page?of=${of}`))).collectors
        return http?.calls.map(each => new URL(each.url).pathname)
      }),
    )
    t.strictSame(found, [['/of-first'], ['/of-last']])
  })
}
