import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { EventStream, WebSocketUpgrade } from 'sinfonietta'
import { type Test, t } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { createFileResponse } from '#lib/http/file-response.ts'
import { Response } from '#lib/http/response.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'
import { pause, startSite } from './bin/site-process.ts'
import { findPort } from './support/find-port.ts'
import { createHandlerBundle } from './support/handler-bundle.ts'
import { startServer } from './support/test-server.ts'

const guide = readFileSync('docs/guides/deploy.md', 'utf8')

/** The first block of code in a language. */
function blockOf(language: string): string {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? ''
}

const settings = {
  APP_ENV: 'prod',
  APP_SECRET: 'of one’s own, and long enough for production',
  APP_HOSTS: 'example.org',
  TRUSTED_PROXIES: '127.0.0.1',
  TRUSTED_HEADERS: 'x-forwarded-for,x-forwarded-proto,x-forwarded-port',
}

t.test('the guide sets what is tested here', async t => {
  for (const [name, value] of Object.entries(settings)) {
    t.match(guide, name === 'APP_SECRET' ? `${name}=$(openssl` : `${name}=${value}\n`)
  }
  for (const option of blockOf('ini').match(/ --[a-z-]+/g) ?? []) {
    t.ok(readFileSync('bin/serving/serve-options.ts', 'utf8').includes(`${option.trim()} <`), option)
  }
})

const skip = spawnSync('nginx', ['-v']).status === 0 ? false : 'there is no nginx on this machine'

/** Runs the guide's configuration before a port, on two ports of its own; gives the one of TLS. */
async function startNginx(t: Test, site: number, uploads = 'var/uploads'): Promise<{ plain: number; secure: number }> {
  const folder = t.testdir()
  const [plain, secure] = [await findPort(), await findPort()]
  const replacements: readonly (readonly [string, string])[] = [
    ['server 127.0.0.1:8000;', `server 127.0.0.1:${site};`],
    ['listen 80;', `listen 127.0.0.1:${plain};`],
    ['listen 443 ssl', `listen 127.0.0.1:${secure} ssl`],
    ['/etc/ssl/certs/example.org.pem', path.resolve('tests/fixtures/tls/cert.pem')],
    ['/etc/ssl/private/example.org.key', path.resolve('tests/fixtures/tls/key.pem')],
    ['alias /srv/my-site/var/uploads/;', `alias ${uploads}/;`],
  ]
  let servers = blockOf('nginx')
  for (const [from, to] of replacements) {
    t.ok(servers.includes(from), from)
    servers = servers.replace(from, to)
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder};`)
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const configuration = `${user} daemon off; pid nginx.pid; error_log stderr;
    events {} http { access_log off; ${temporary.join(' ')} ${servers} }`
  writeFileSync(path.join(folder, 'nginx.conf'), configuration)
  const child = startProcess(t, ['nginx', '-p', folder, '-c', 'nginx.conf', '-e', 'stderr'])
  let errors = ''
  child.stderr?.on('data', chunk => {
    errors += chunk
  })
  const asks = () => ask({ port: plain, path: '/' }, httpRequest).catch(() => undefined)
  await until(asks, 50).catch((cause: unknown) => {
    throw new Error(`nginx has not started: ${errors}`, { cause })
  })
  return { plain, secure }
}

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

function ask(
  options: RequestOptions & { body?: string },
  request = httpsRequest as typeof httpRequest,
): Promise<Answer> {
  const { body, ...rest } = options
  const headers = { host: 'example.org', ...rest.headers }
  return new Promise((resolve, reject) => {
    const insecure = { rejectUnauthorized: false }
    const message = request({ host: '127.0.0.1', ...rest, ...insecure, headers }, response => {
      text(response).then(text => resolve({ status: response.statusCode, headers: response.headers, text }), reject)
    })
    message.on('error', reject)
    message.end(body)
  })
}

t.test('behind the nginx of the guide', { skip }, async t => {
  const site = startSite(t, ['--port=0', '--workers=2'], settings)
  const direct = Number(new URL(await site.url()).port)
  const { plain, secure } = await startNginx(t, direct)

  await t.test('pages come by TLS, and plain HTTP leads there', async t => {
    const page = await ask({ port: secure, path: '/partnership' })
    t.match(page, { status: 200, text: '</body></html>' })
    const answer = await ask({ port: plain, path: '/partnership?a=b' }, httpRequest)
    t.match(answer, { status: 301, headers: { location: 'https://example.org/partnership?a=b' } })
  })

  await t.test('a redirect of the site keeps scheme, host and port, whatever a client claims', async t => {
    const location = `https://example.org:${secure}/partnership?a=b`
    for (const [path, headers] of [
      ['/partnership/?a=b', { host: `example.org:${secure}` }],
      [
        '/partnership/?a=b',
        { 'x-forwarded-host': 'evil.test', 'x-forwarded-port': '1', 'x-forwarded-prefix': '/evil' },
      ],
      ['/partnership/?a=b', { forwarded: 'for=_x;host=evil.test;proto=http' }],
      ['https://example.org/partnership/?a=b', { host: 'evil.test' }],
    ] as const) {
      const answer = await ask({ port: secure, path, headers })
      t.equal(answer.status, 301)
      t.equal(answer.headers.location, location)
    }
  })

  await t.test('there is no debug output, whatever a client claims', async t => {
    for (const headers of [
      {},
      { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'localhost', forwarded: 'for=127.0.0.1;host=localhost' },
    ]) {
      for (const target of ['/nope', '/_profiler', '/_profiler/', '/_wdt/abcdef']) {
        const answer = await ask({ port: secure, path: target, headers })
        t.match(answer, { status: 404, text: /Page not found/ }, target)
        t.notMatch(JSON.stringify(answer), /x-debug|No route found|node_modules/, target)
      }
    }
  })

  await t.test('other hosts, health checks from outside and large bodies are refused', async t => {
    t.match(await ask({ port: secure, path: '/partnership', headers: { host: 'localhost' } }), { status: 400 })
    t.match(await ask({ port: secure, path: '/_health' }), { status: 404 })
    const health = await ask({ port: direct, path: '/_health', headers: { host: `127.0.0.1:${direct}` } }, httpRequest)
    t.match(health, { status: 200, text: '{"status":"ready"}' })
    const large = await ask({ port: secure, path: '/partnership', method: 'POST', body: 'x'.repeat(12 * 2 ** 20) })
    t.equal(large.status, 413)
    t.equal((await ask({ port: secure, path: '/partnership', method: 'POST', body: 'x'.repeat(2 ** 20) })).status, 405)
  })

  await t.test('a reload loses no request', async t => {
    const workersOf = () => execFileSync('ps', ['-o', 'pid=', '--ppid', String(site.child.pid)], { encoding: 'utf8' })
    const before = workersOf().trim().split(/\s+/)
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    t.teardown(() => agent.destroy())
    let isOver = false
    let count = 0
    const failures: unknown[] = []
    const work = async () => {
      while (!isOver) {
        const answer = await ask({ port: secure, path: '/partnership', agent }).catch(error => error)
        count++
        if (answer.status !== 200) failures.push(answer)
      }
    }
    const load = Promise.all(Array.from({ length: 8 }, work))
    site.child.kill('SIGHUP')
    for (let now = before; now.length !== 2 || now.some(pid => before.includes(pid)); ) {
      await pause(50)
      now = workersOf().trim().split(/\s+/)
    }
    isOver = true
    await load
    t.strictSame(failures, [])
    t.ok(count > 100, `${count} requests were answered`)
  })

  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test(
  'the site learns the address, scheme, host and port of a client from nginx, and not from the client',
  { skip },
  async t => {
    const handlers = createHandlerBundle({
      '/who': ({ clientIp, headers, url }) => Response.json([clientIp, url, headers.get('upgrade')]),
    })
    const { port } = await startServer(t, settings, [handlers])
    const { secure } = await startNginx(t, port)
    const claims = {
      forwarded: 'for=203.0.113.9;proto=http;host=evil.test',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'http',
      'x-forwarded-port': '1',
      'x-forwarded-prefix': '/evil',
      connection: 'Upgrade',
      upgrade: 'h2c',
    }
    const { text } = await ask({ port: secure, path: '/who', localAddress: '127.0.0.2', headers: claims })
    t.strictSame(JSON.parse(text), ['127.0.0.2', `https://example.org:${secure}/who`, null])
  },
)

t.test('events, WebSockets and files come through the nginx of the guide', { skip }, async t => {
  const sockets = new WebSocketServer({ noServer: true })
  sockets.on('connection', client => client.on('message', data => client.send(`echo ${data}`)))
  const uploads = mkdtempSync(path.join(tmpdir(), 'uploads-'))
  t.teardown(() => rmSync(uploads, { recursive: true }))
  writeFileSync(path.join(uploads, 'Größe 1.txt'), 'a report')
  const handlers = createHandlerBundle({
    '/prices': request => new EventStream(request, stream => stream.send({ data: 'one' })),
    '/talk': request =>
      new WebSocketUpgrade(request, (message, socket, head) => {
        sockets.handleUpgrade(message, socket, head, client => sockets.emit('connection', client))
      }),
    '/report': request => createFileResponse(request, 'Größe 1.txt', { root: uploads }),
    '/hinted': request => {
      request.sendEarlyHints(['</a.css>; rel=preload; as=style'])
      return Response.text('hinted')
    },
  })
  const { port } = await startServer(t, { ...settings, ACCEL_REDIRECT: `${uploads}=/_uploads` }, [handlers])
  const { secure } = await startNginx(t, port, uploads)

  const events = httpsRequest({
    port: secure,
    path: '/prices',
    headers: { host: 'example.org' },
    rejectUnauthorized: false,
  })
  const [response] = await once(events.end(), 'response')
  let received = ''
  for await (const chunk of response) {
    received += chunk
    if (received.endsWith('data: one\n\n')) break
  }
  t.equal(received, ':\n\ndata: one\n\n', 'nothing is held back')
  events.destroy()

  const open = (origin: string) => {
    const headers = { host: 'example.org', origin }
    return new WebSocket(`wss://127.0.0.1:${secure}/talk`, { headers, rejectUnauthorized: false })
  }
  const client = open(`https://example.org:${secure}`)
  await once(client, 'open')
  client.send('a')
  t.equal(String((await once(client, 'message'))[0]), 'echo a')
  client.terminate()
  const [error] = await once(open('https://evil.test'), 'error')
  t.match(error.message, '403')

  const report = await ask({ port: secure, path: '/report' })
  t.match(report, { status: 200, text: 'a report' })
  t.match(report.headers['content-disposition'], /^attachment; filename="Gr__e 1.txt"/)
  t.equal(report.headers['content-type'], 'text/plain; charset=UTF-8')
  t.equal(report.headers['x-accel-redirect'], undefined)
  const part = await ask({
    port: secure,
    path: '/report',
    headers: { range: 'bytes=2-', 'if-range': String(report.headers.etag) },
  })
  t.match(part, { status: 206, text: 'report' })
  const again = await ask({ port: secure, path: '/report', headers: { 'if-none-match': String(report.headers.etag) } })
  t.equal(again.status, 304)
  t.equal(
    (await ask({ port: secure, path: '/_uploads/Gr%C3%B6%C3%9Fe%201.txt' })).status,
    404,
    'the location is internal',
  )
  t.match(await ask({ port: secure, path: '/hinted' }), { status: 200, text: 'hinted' })
})
