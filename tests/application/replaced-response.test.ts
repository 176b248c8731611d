import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { addNodeMiddleware, type Bundle, createFrameworkBundle, Response, ResponseEvent } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel, type TestResponse } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { Request } from '#lib/http/request.ts'

/** Before, between and after the default listeners. */
const priorities = [500, 1, 0, -1, -99, -101, -127, -129, -254, -256, -999, -1001, -1099, -1101, -1201, -3000]

const page = () => Response.html('<html><head></head><body>new</body></html>')

/** How a listener sets another response. */
const ways: Readonly<Record<string, (event: ResponseEvent) => void>> = {
  'a new response': event => {
    event.response = page()
  },
  'a copy of the response': event => {
    const { body, headers, status } = event.response
    event.response = new Response(body, { status, headers })
  },
  'two new responses': event => {
    event.response = Response.text('first')
    event.response = page()
  },
  'explicit headers': event => {
    event.response = page()
    event.response.headers.set('x-frame-options', 'DENY')
    event.response.headers.delete('referrer-policy')
  },
  'a response with its own headers': event => {
    const own = { 'x-frame-options': 'DENY', 'x-request-id': 'own', 'x-robots-tag': 'all', 'cache-control': 'public' }
    event.response = Response.text('own', { headers: own })
  },
}

function secure({ url }: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader('content-security-policy', "default-src 'self'")
  if (url === '/open') response.setHeader('set-cookie', ['a=1; Path=/', 'b=2; Path=/'])
  next()
}

/** Boots pages whose response a listener replaces, as the headers `x-way` and `x-priority` say. */
async function boot(t: Test, isProduction: boolean) {
  const pages: Bundle = {
    name: 'pages',
    register({ dispatcher, routes }) {
      addNodeMiddleware(dispatcher, secure)
      const change = async ({ session }: Request) => {
        await session.set('seen', Math.random())
        return page()
      }
      const defaults = { _cors: { origins: ['https://a.test'] } }
      routes.add({ name: 'page', path: '/', controller: async request => change(request), defaults })
      routes.add({ name: 'open', path: '/open', controller: page, defaults })
      routes.get('broken', '/broken', async request => {
        await change(request)
        return Response.stream(Readable.from(fail()))
      })
      routes.get('late', '/late', async request => change(request))
      for (const priority of priorities) {
        const replace = (event: ResponseEvent) => {
          const { headers } = event.request
          if (headers.get('x-priority') === String(priority)) ways[headers.get('x-way') ?? '']?.(event)
          if (event.request.path === '/late' && priority === -3000) throw new Error('late')
        }
        dispatcher.on(ResponseEvent, replace, priority)
      }
    },
  }
  const bundles = [createFrameworkBundle(), ...(isProduction ? [] : [createProfilerBundle()]), pages]
  const variables: Record<string, string> = isProduction ? { APP_ENV: 'prod' } : {}
  const kernel = await createTestKernel({ bundles, variables, directory: t.testdir({}) })
  t.teardown(() => kernel.close())
  return (path: string, way = '', priority = 0) =>
    kernel
      .createClient()
      .get(path, { headers: { origin: 'https://a.test', 'x-way': way, 'x-priority': String(priority) } })
}

async function* fail() {
  yield* []
  throw new Error('broken')
}

/** The headers and the text of a response, without what differs between two requests. */
const describe = ({ headers, text }: TestResponse) =>
  [...headers, ['body', text]]
    .map(([name = '', value = '']) => [name, /^(?:expires|x-request-id)$/.test(name) ? '…' : mask(value)].join(': '))
    .sort()

/** Masks the id of a session, tokens, nonces and durations. */
const mask = (text: string) =>
  text.replace(/(?<=session=)[^;]*|\b[\da-f]{6}\b|(?<=nonce-?"?)[\w-]{22}|(?<=dur=)[\d.]+/g, '…')

for (const isProduction of [true, false]) {
  const name = isProduction ? 'production' : 'development'
  t.test(`in ${name}, a response that a listener sets at any priority has all default headers`, async t => {
    const get = await boot(t, isProduction)
    for (const path of ['/', '/open']) {
      const expected = describe(await get(path))
      const wrong: unknown[] = []
      for (const way of ['a new response', 'a copy of the response', 'two new responses']) {
        for (const priority of priorities) {
          const found = describe(await get(path, way, priority))
          const difference = [
            ...found.filter(each => !expected.includes(each)),
            ...expected.filter(each => !found.includes(each)),
          ]
          if (difference.length > 0 || found.length !== expected.length) wrong.push([path, way, priority, difference])
        }
      }
      t.strictSame(wrong, [])
    }
  })
}

t.test('what a listener sets or removes afterwards stays', async t => {
  const get = await boot(t, false)
  const wrong: unknown[] = []
  const check = (what: unknown, found: unknown[], right: unknown[]) => {
    if (JSON.stringify(found) !== JSON.stringify(right)) wrong.push([what, found])
  }
  // Before the defaults, a response is as one of a controller.
  for (const priority of priorities.filter(priority => priority < 0)) {
    const { headers } = await get('/open', 'explicit headers', priority)
    check(priority, [headers.get('x-frame-options'), headers.get('referrer-policy')], ['DENY', null])
    const own = (await get('/open', 'a response with its own headers', priority)).headers
    const names = ['x-frame-options', 'x-request-id', 'x-robots-tag', 'cache-control', 'x-content-type-options']
    check(
      priority,
      names.map(name => own.get(name)),
      ['DENY', 'own', 'all', 'public', 'nosniff'],
    )
  }
  t.strictSame(wrong, [])
})

t.test('the answer to an error after the session was saved has its cookie, and headers of a middleware', async t => {
  const get = await boot(t, true)
  for (const path of ['/broken', '/late']) {
    const { headers, status } = await get(path)
    t.equal(status, 500, path)
    t.match(headers.get('set-cookie'), /^session=/, path)
    t.match(headers.get('cache-control'), 'private', path)
    t.equal(headers.get('content-security-policy'), "default-src 'self'", path)
  }
})
