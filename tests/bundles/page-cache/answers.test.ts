import {
  type Bundle,
  createFileResponse,
  createFrameworkBundle,
  createPageCache,
  EventStream,
  mountFetchHandler,
  type Request,
  Response,
  ResponseEvent,
  ViewEvent,
} from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

const long = 'text '.repeat(1000)

/** Controllers whose answers take other ways to the client. */
const answers: Record<string, (request: Request, call: number) => unknown> = {
  bytes: (_request, call) =>
    new Response(new Uint8Array([call, 0, 255]), { headers: { 'content-type': 'application/octet-stream' } }),
  viewed: (_request, call) => ({ call }),
  format: (request, call) => {
    request.attributes.set('_format', 'json')
    return new Response(`{"call":${call}}`)
  },
  empty: (_request, call) => new Response(null, { headers: { 'x-call': `${call}` } }),
  long: (_request, call) => Response.text(`${call} ${long}`),
  encoded: (_request, call) =>
    Response.text(`${call}`, { headers: { 'content-encoding': 'identity', vary: 'Accept-Encoding' } }),
  readable: (_request, call) => Response.text(`${call}`),
  changed: (_request, call) => Response.html(`<p>${call}</p>`),
  slow: async (_request, call) => {
    await new Promise(resolve => setImmediate(resolve))
    return Response.html(`<p>${call}</p>`)
  },
}

const shop: Bundle = {
  name: 'shop',
  register({ dispatcher, routes }) {
    const _cache = { sMaxAge: 60 }
    for (const [name, answer] of Object.entries(answers)) {
      let calls = 0
      const _cors = name === 'readable' ? { origins: ['https://a.example', 'https://b.example'] } : false
      const controller = (request: Request) => answer(request, ++calls)
      routes.add({ name, path: `/${name}`, methods: ['GET'], defaults: { _cache, _cors }, controller })
    }
    routes.group({ defaults: { _cache } }, group => {
      const bytes = new Uint8Array([1, 2, 3])
      group.get('reused', '/reused', () => {
        setImmediate(() => bytes.fill(9))
        return new Response(bytes)
      })
      group.get('file', '/file', request => createFileResponse(request, 'package.json'))
      group.get('events', '/events', request => new EventStream(request, stream => stream.end()))
    })
    const handler = async () => new globalThis.Response('mounted', { headers: { 'set-cookie': 'a=1' } })
    mountFetchHandler(routes, '/mounted', handler, { defaults: { _cache } })
    dispatcher.on(ViewEvent, event => event.respond(Response.json(event.result)))
    dispatcher.on(ResponseEvent, ({ request, response }) => {
      if (request.path === '/changed') response.body = `${response.body}<footer>`
    })
  },
}

t.test('a stored answer is the same for the next client, whatever the way of its content', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createPageCache(), shop] })
  t.teardown(close)
  for (const name of Object.keys(answers)) {
    const [first, second] = [await client.get(`/${name}`), await client.get(`/${name}`)]
    t.equal(second.headers.get('age'), '0', `${name} is stored`)
    t.strictSame([...second.bytes], [...first.bytes], `${name} has the same body`)
    const headersOf = ({ headers }: typeof first) =>
      [...headers].filter(([header]) => !/^(?:age|x-request-id)$/i.test(header)).sort()
    t.strictSame(headersOf(second), headersOf(first), `${name} has the same headers`)
  }
  const compressed = await client.get('/long', { headers: { 'accept-encoding': 'gzip' } })
  t.strictSame([compressed.headers.get('content-encoding'), compressed.headers.get('age')], ['gzip', '0'])
  for (const origin of ['https://a.example', 'https://b.example', 'https://c.example']) {
    const { headers } = await client.get('/readable', { headers: { origin } })
    t.equal(headers.get('access-control-allow-origin'), origin.includes('c.') ? null : origin)
  }
  await client.get('/reused')
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame([...(await client.get('/reused')).bytes], [1, 2, 3], 'a controller may use its bytes again')
  for (const path of ['/file', '/events', '/mounted']) {
    await client.get(path)
    t.equal((await client.get(path)).headers.get('age'), null, `${path} is not stored`)
  }
})
