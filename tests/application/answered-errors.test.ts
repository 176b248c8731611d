import {
  type Application,
  type Bundle,
  createFileResponse,
  createFrameworkBundle,
  defineController,
  ExceptionEvent,
  HttpError,
  mountFetchHandler,
  mountNodeHandler,
  type Request,
  RequestEvent,
  Response,
} from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const secret = 'TOP SECRET REPORT'
const names = ['report.txt', '100%.txt', 'contact', 'big.css', 'api', 'legacy', 'fails', 'forwards']

/** Refuses clients without credentials, and one of its routes, in the form that a developer writes first. */
function guard({ dispatcher, kernel, routes }: Application): void {
  dispatcher.on(
    RequestEvent,
    ({ request }) => {
      if (request.headers.has('x-guarded') && !request.headers.has('authorization')) {
        throw new HttpError(401, 'Log in first.')
      }
    },
    100,
  )
  routes.post('contact', '/contact', () => {
    throw new HttpError(422, 'A name is missing.')
  })
  routes.add({
    name: 'forwards',
    path: '/forwards',
    methods: ['PUT'],
    controller: request => kernel.forward(request, () => Response.text('forwarded')),
  })
  mountFetchHandler(routes, '/api', () => {
    throw new Error('the fetch handler failed')
  })
  mountNodeHandler(routes, '/legacy', () => {
    throw new Error('the node handler failed')
  })
}

async function serve(t: Test, variables: Readonly<Record<string, string>>) {
  const directory = t.testdir({ public: Object.fromEntries(names.map(name => [name, secret.repeat(100)])) })
  const profiler = variables.APP_ENV === 'prod' ? [] : [createProfilerBundle({ storage: new MemoryProfileStorage() })]
  const bundles: Bundle[] = [createFrameworkBundle(), ...profiler, { name: 'guard', register: guard }]
  const kernel = await createTestKernel({ bundles, directory, variables: { ACCESS_LOG: '0', ...variables } })
  t.teardown(() => kernel.close())
  const { raw } = await serveKernel(t, kernel)
  const ask = async (line: string, headers: readonly string[] = []) => {
    const host = headers.some(header => /^host/i.test(header)) ? [] : ['host: localhost']
    const head = [`${line} HTTP/1.1`, ...host, 'connection: close', ...headers, '', ''].join('\r\n')
    const answer = await raw(head)
    const [, status = ''] = answer.split(' ', 2)
    const type = /^content-type: ([^;\r]*)/im.exec(answer)?.[1] ?? ''
    return { answer, status: Number(status), type }
  }
  return { ...kernel, ask }
}

const production = { APP_ENV: 'prod', APP_SECRET: 'of production, and long enough for it', APP_HOSTS: 'localhost' }

/** Fields of a client that has the file, or wants a part of it. */
const conditions: readonly (readonly string[])[] = [
  [],
  ['if-none-match: *', 'if-modified-since: Fri, 01 Jan 2100 00:00:00 GMT'],
  ['if-match: "none"', 'if-unmodified-since: Sat, 01 Jan 2000 00:00:00 GMT'],
  ['range: bytes=0-3', 'accept-encoding: br'],
  ['range: bytes=99999-'],
]

/**
 * Requests that fail although a listener of the framework answers a GET of their path: method, path, status, headers.
 */
const failing: readonly (readonly [method: string, path: string, status: number, ...headers: string[]])[] = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'].map(
    method => [method, '/report.txt', 401, 'x-guarded: 1'] as const,
  ),
  ['GET', '/report.txt?x=1', 401, 'x-guarded: 1'],
  ['GET', '/%72eport.txt', 401, 'x-guarded: 1'],
  ['GET', '/report.txt', 400, 'host: good.test', 'host: other.test'],
  ['POST', '/report.txt', 405],
  ['PATCH', '/report.txt', 405],
  ['OPTIONS', '/report.txt', 405],
  ['GET', '/100%.txt', 400],
  ['HEAD', '/100%.txt', 400],
  ['POST', '/contact', 422, 'accept: application/json'],
  ['POST', '/contact', 422],
  ['POST', '/contact', 403, 'sec-fetch-site: cross-site'],
  ['POST', '/contact', 422, 'accept: text/plain'],
  ['POST', '/api', 500],
  ['POST', '/legacy', 500],
  ['POST', '/big.css', 405],
  ['POST', '/_health', 404],
  ['DELETE', '/_health/live', 404],
  ['GET', '/_health', 400, 'host: good.test', 'host: other.test'],
  ['GET', '/_health/live', 400, 'host: good.test', 'host: other.test'],
]

for (const environment of ['dev', 'prod']) {
  t.test(`in ${environment} no file and no health check answers an error, whatever the client wants of it`, async t => {
    const { ask, records } = await serve(t, environment === 'prod' ? production : {})
    const cases = [
      ...failing,
      ...(environment === 'prod' ? ([['GET', '/report.txt', 400, 'host: evil.test']] as const) : []),
    ]
    const offenders: string[] = []
    for (const [method, path, status, ...headers] of cases) {
      for (const condition of conditions) {
        const { answer, status: found, type } = await ask(`${method} ${path}`, [...headers, ...condition])
        const isPage = /^(?:text\/(?:html|plain)|application\/problem\+json)$/.test(type)
        const isFile =
          answer.includes(secret) || /"status":"(?:ready|live)"|^(?:etag|accept-ranges|content-range):/im.test(answer)
        const isCached = /^cache-control:.*public/im.test(answer)
        if (found === status && isPage && !isFile && !isCached) continue
        offenders.push(`${[method, path, ...headers, ...condition].join(' ')} → ${answer.slice(0, 300)}`)
      }
    }
    t.strictSame(offenders, [])
    t.strictSame(
      records.filter(({ message }) => message.startsWith('event.respond()')),
      [],
      'listeners of the framework are not named in the log',
    )
  })

  t.test(`in ${environment} the files themselves are answered as before`, async t => {
    const { ask } = await serve(t, environment === 'prod' ? production : {})
    const found = async (line: string, ...headers: string[]) => (await ask(line, headers)).status
    t.equal(await found('GET /report.txt'), 200)
    t.equal(await found('GET /report.txt', 'x-guarded: 1', 'authorization: Basic YTpi'), 200)
    t.equal(await found('GET /report.txt', 'if-none-match: *'), 304)
    t.equal(await found('GET /report.txt', 'range: bytes=0-3'), 206)
    t.equal(await found('GET /_health'), 200)
    t.equal(await found('PUT /forwards'), 200)
  })
}

t.test('a file that answers an error is sent whole, with the status of the error', async t => {
  const root = t.testdir({ '404.html': 'Are you lost?' })
  const send = (request: Request) => createFileResponse(request, '404.html', { root, disposition: 'inline' })
  const ways: Readonly<Record<string, Bundle['register']>> = {
    'an error controller': ({ controllers }) =>
      controllers.decorate('error_controller', () => defineController('error_controller', send)),
    'a listener of kernel.exception': ({ dispatcher }) =>
      void dispatcher.on(ExceptionEvent, async event => event.respond(await send(event.request))),
  }
  const offenders: string[] = []
  for (const [way, register] of Object.entries(ways)) {
    const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), { name: 'lost', register }] })
    t.teardown(close)
    for (const condition of conditions) {
      const headers = condition.map((line): [string, string] => [
        line.split(': ', 1).join(),
        line.replace(/^.*?: /, ''),
      ])
      const { headers: sent, status, text } = await client.get('/nowhere', { headers })
      const isWhole = text === 'Are you lost?' && !sent.has('content-range') && !sent.has('accept-ranges')
      if (status !== 404 || !isWhole) offenders.push(`${way}, ${condition.join(', ')}: ${status} ${text}`)
    }
  }
  t.strictSame(offenders, [])
})
