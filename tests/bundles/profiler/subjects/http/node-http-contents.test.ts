import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'

async function listen(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends the body of a request back. */
const echo: RequestListener = (request, response) => {
  if (request.headers['content-type'] !== undefined) response.setHeader('content-type', request.headers['content-type'])
  request.pipe(response)
}

function create(url: string, type = 'text/plain'): ClientRequest {
  return request(url, { method: 'POST', headers: { 'content-type': type } })
}

async function receive(sent: ClientRequest): Promise<IncomingMessage> {
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) throw new TypeError('The request has no response.')
  return response
}

const done = () => Response.text('done')

t.test('contents of calls of node:http are recorded, masked; the application gets the same', async t => {
  const json = '{"a":1,"password":"x"}'
  const url = await listen(t, echo)
  const gzip = await listen(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(json))
  })
  const read: string[] = []
  const { profile } = await profilePage(t, async () => {
    const sent = create(url, 'application/json')
    sent.write(json.slice(0, 5))
    sent.write(Buffer.from(json.slice(5, 9)), () => read.push('written'))
    sent.end(json.slice(9), () => read.push('ended'))
    read.push(await text(await receive(sent)))
    const encoded = create(url)
    encoded.write('abc', 'utf8')
    encoded.end('646566', 'hex')
    read.push(await text((await receive(encoded)).setEncoding('utf8')))
    const image = create(url, 'image/png').end('x')
    read.push(await text(await receive(image)))
    const response = await receive(create(gzip).end())
    read.push(String((await response.toArray()).length))
    return done()
  })
  const { http } = profile.collectors
  t.strictSame(read, ['written', 'ended', json, 'abcdef', 'x', '1'])
  const [first, second, third, last] = http?.calls ?? []
  const content = { type: 'application/json', length: 22, json: [{ a: 1, password: '******' }] }
  t.strictSame([first?.request?.content, first?.response?.content], [content, content])
  t.match(first?.request?.headers, [['content-type', 'application/json'], ['host']])
  t.match([second?.request?.content, second?.response?.content], [{ text: 'abcdef' }, { text: 'abcdef' }])
  t.match([third?.request?.content, third?.response?.content], Array(2).fill({ note: 'Only text is stored.' }))
  t.equal(last?.request?.content, undefined)
  t.strictSame(last?.response?.content, content)
})

t.test('calls of node:http that overlap have their own contents', async t => {
  const url = await listen(t, echo)
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async ({ query }) => {
        const names = ['a', 'b', 'c'].map(name => `${name}${query.get('of')}`)
        await Promise.all(names.map(async name => text(await receive(create(url).end(name)))))
        return done()
      },
    },
  })
  const texts = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const { http } = (await kernel.profileOf(await kernel.client.get(`/page?of=${index}`))).collectors
      return http?.calls.flatMap(({ request, response }) => [request?.content?.text, response?.content?.text]).join(' ')
    }),
  )
  t.strictSame(
    texts,
    texts.map((_, index) => `a${index} a${index} b${index} b${index} c${index} c${index}`),
  )
})

const size = 8_000_000

/** Notes what an application sees of calls whose responses are read late, partly, or never. */
async function observeCalls(url: string, written: () => number): Promise<readonly string[]> {
  const seen: string[] = []
  const late = await receive(create(url).end())
  while (late.readableLength < late.readableHighWaterMark) await once(late.socket, 'data')
  seen.push(`flowing ${late.readableFlowing}`, `held back ${written() < size}`, Object.keys(late).toSorted().join())
  seen.push(`length ${(await text(late)).length}`)
  for (const end of ['destroy', 'error', 'abort'] as const) {
    const sent = create(url)
    for (const event of ['finish', 'error', 'close']) sent.on(event, () => seen.push(`request ${event}`))
    const response = await receive(sent.end())
    for (const event of ['aborted', 'error', 'close']) response.on(event, () => seen.push(`response ${event}`))
    await once(response, 'data')
    const closed = Promise.all([sent, response].map(each => new Promise<void>(resolve => each.on('close', resolve))))
    if (end === 'abort') response.destroy()
    else sent.destroy(end === 'error' ? new Error('no more') : undefined)
    await closed
    seen.push(end)
  }
  return seen
}

t.test('a response that the application does not read stays paused, and aborts have the same events', async t => {
  let written = 0
  const url = await listen(t, (request, response) => {
    request.resume()
    response.setHeader('content-type', 'text/plain')
    written = 0
    const write = () => {
      while (!response.destroyed && written < size) {
        written += 50_000
        if (!response.write('x'.repeat(50_000))) return response.once('drain', write)
      }
      return response.end()
    }
    write()
  })
  const seen: (readonly string[])[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        seen.push(await observeCalls(url, () => written))
        return done()
      },
    },
  })
  seen.push(await observeCalls(url, () => written))
  const { http } = (await kernel.profileOf(await kernel.client.get('/page'))).collectors
  t.strictSame(seen[1], seen[0])
  t.match(seen[0], ['flowing null', 'held back true', /_readableState/, `length ${size}`])
  t.match(
    http?.calls.map(({ response }) => response?.content),
    [{ length: size, isCut: true, text: /^x+$/ }, { type: 'text/plain' }, {}, {}],
  )
})
