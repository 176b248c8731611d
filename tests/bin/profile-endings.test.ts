import { once } from 'node:events'
import { request } from 'node:http'
import path from 'node:path'
import { type Test, t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createDependent, findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const crashes = `
import express from 'express'
const app = express()
const fail = () => { throw new Error('not caught') }
app.get('/late', (request, response) => { setTimeout(fail, 10); response.send('ok') })
app.get('/pending', (request, response) => { setTimeout(fail, 10); setTimeout(() => response.send('ok'), 60) })
app.get('/rejected', (request, response) => { setTimeout(async () => fail(), 10); response.send('ok') })
app.get('/fine', (request, response) => response.send('ok'))
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

function startExpress(t: Test, program: string, flags = '') {
  const folder = createDependent(t, 'express')
  return startProfiled(t, program, { PROFILER_TOOLBAR: '1', NODE_OPTIONS: flags }, folder)
}

/** The first sentence of a profile. */
async function readSentence(viewer: string, target: string): Promise<string> {
  const { summary } = await findProfile(viewer, target)
  const [sentence = ''] = (await (await fetch(`${viewer}/_profiler/${summary.token}.md`)).text()).split('\n')
  return sentence
}

/** Ways to take errors, after which the process goes on. */
const takers: Readonly<Record<string, readonly [code: string, flags: string, paths: readonly string[]]>> = {
  listener: [`process.on('uncaughtException', () => {})`, '', ['/late', '/pending', '/rejected']],
  callback: [`process.setUncaughtExceptionCaptureCallback(() => {})`, '', ['/late', '/pending']],
  rejections: [`process.on('unhandledRejection', () => {})`, '', ['/rejected']],
  warn: ['', '--unhandled-rejections=warn', ['/rejected']],
  none: ['', '--unhandled-rejections none', ['/rejected']],
  quoted: ['', '"--unhandled-rejections=warn"', ['/rejected']],
  strict: [`process.on('uncaughtException', () => {})`, '--unhandled-rejections=strict', ['/rejected']],
}

t.test('an error that the application takes is in the profile, and has not ended the process', async t => {
  const wrong: string[] = []
  for (const [name, [code, flags, paths]] of Object.entries(takers)) {
    const { stop, url, viewer } = await startExpress(t, crashes + code, flags)
    for (const target of paths) {
      t.equal(await (await fetch(url + target)).text(), 'ok')
      await until(async () => (await findProfile(viewer, target)).summary.exception !== null)
      const sentence = await readSentence(viewer, target)
      if (/ended (?:with )?the process/.test(sentence)) wrong.push(`${name} ${target}: ${sentence}`)
    }
    await fetch(`${url}/fine`)
    await stop()
  }
  t.strictSame(wrong, [])
})

/**
 * Ways in which an error ends the process, or another reason does; with the outcome of the request, and its exit code.
 */
const ends: Readonly<Record<string, readonly [code: string, target: string, outcome: string, exit: number]>> = {
  nothing: ['', '/late', 'crashed', 1],
  exit: [`process.on('uncaughtException', () => process.exit(1))`, '/late', 'crashed', 1],
  later: [`process.on('uncaughtException', () => setTimeout(() => process.exit(1), 100))`, '/late', 'crashed', 1],
  'after the responses': [
    `process.on('uncaughtException', () => { process.exitCode = 1; process.stdin.destroy(); server.close() })`,
    '/late',
    'crashed',
    1,
  ],
  rejection: [`process.on('unhandledRejection', () => process.exit(3))`, '/rejected', 'crashed', 3],
  'another reason': [`process.on('uncaughtException', () => {})`, '/late', 'complete', 0],
  'without a response': [`process.on('uncaughtException', () => process.exit(0))`, '/pending', 'crashed', 0],
}

t.test('a request has ended with the process if its error has ended it', async t => {
  const found: string[] = []
  for (const [name, [code, target]] of Object.entries(ends)) {
    const { child, cwd, url, viewer } = await startExpress(t, crashes + code)
    const exited = once(child, 'exit')
    await fetch(url + target).catch(() => undefined)
    if (name === 'another reason') {
      await until(async () => (await findProfile(viewer, target)).summary.exception !== null)
      child.stdin?.end()
    }
    const [exit] = await exited
    const directory = path.join(cwd, 'node_modules/.cache/sinfonietta/profiler')
    const storage = new FileProfileStorage({ directory, onProblem: () => undefined })
    const [summary] = (await storage.search({ limit: 1 })).summaries
    await storage.close()
    found.push(`${name}: ${summary?.outcome}, ${summary?.exception}, ${exit}`)
  }
  t.strictSame(
    found,
    Object.entries(ends).map(([name, [, , outcome, exit]]) => `${name}: ${outcome}, Error, ${exit}`),
  )
})

/**
 * Responses by their paths: what the finding says of their length, the status of the size on the page, and the code.
 */
const lengths: Readonly<Record<string, readonly [problem: string, size: string, code: string]>> = {
  '/few': ['the client waits for 20 bytes more.', '60 bytes (40 bytes sent)', `send({ 'content-length': 60 })`],
  '/many': [
    'the client does not read the last 10 bytes.',
    '30 bytes (40 bytes sent)',
    `send({ 'content-length': 30 })`,
  ],
  '/characters': [
    'the client does not read the last 3 bytes.',
    '10 bytes (13 bytes sent)',
    `response.writeHead(200, { 'content-length': '{"a":"ä€"}'.length }).end('{"a":"ä€"}')`,
  ],
  '/written': [
    'the client does not read the last 3 bytes.',
    '6 bytes (streamed; 9 bytes sent)',
    `response.setHeader('content-length', '6'); response.write('abc'); response.write('def'); response.end('ghi')`,
  ],
  '/set-few': [
    'the client waits for 20 bytes more.',
    '60 bytes (40 bytes sent)',
    `response.setHeader('content-length', 60); send({})`,
  ],
  '/right': ['', 'BYTES (40 bytes without the toolbar; BYTES sent)', `send({ 'content-length': 40 })`],
  '/without': ['', 'BYTES (40 bytes without the toolbar; BYTES sent)', 'send({})'],
  '/empty': ['', '0 bytes (0 bytes sent)', `response.writeHead(200, { 'content-length': 0 }).end()`],
  '/unchanged': [
    '',
    '40 bytes (0 bytes sent; not sent: 304 has no body)',
    `response.writeHead(304, { 'content-length': 40 }).end()`,
  ],
  '/head': ['', '60 bytes (0 bytes sent; not sent: response to HEAD)', `send({ 'content-length': 60 })`],
  '/strict': ['', '30 bytes (0 bytes sent)', `response.strictContentLength = true; send({ 'content-length': 30 })`],
  '/left': ['', '60 bytes (streamed; 1 byte sent)', `response.writeHead(200, { 'content-length': 60 }).write('a')`],
}

t.test('a length that is not that of the bytes is said, and only such a one', async t => {
  const program = `
import express from 'express'
const app = express()
const page = '<html><body>abcdefghijklmn</body></html>'
${Object.entries(lengths)
  .map(
    ([target, [, , code]]) => `app.get('${target}', (request, response) => {
  const send = fields => response.writeHead(200, { 'content-type': 'text/html', ...fields }).end(page)
  ${code}
})`,
  )
  .join('\n')}
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`
  const { stop, url, viewer } = await startExpress(t, program)
  const found: string[] = []
  const outcomes: Readonly<Record<string, string>> = { '/strict': 'stream-failed', '/left': 'aborted' }
  for (const target of Object.keys(lengths)) {
    const method = target === '/head' ? 'HEAD' : 'GET'
    // The rest of a body may never come.
    const client = new AbortController()
    await fetch(url + target, { method, signal: client.signal }).catch(() => undefined)
    if (target === '/left') client.abort()
    const { findings, summary } = (await findProfile(viewer, target, outcomes[target])) as ProfileData & {
      readonly findings: readonly { readonly rule: string; readonly problem: string }[]
    }
    client.abort()
    const { problem = '' } = findings.find(({ rule }) => rule === 'wrong-length') ?? {}
    const panel = await (await fetch(`${viewer}/_profiler/${summary.token}?panel=request`)).text()
    const [, size = ''] = /<dt>Size<.dt><dd>(.*?)<.dd>/.exec(panel) ?? []
    found.push(`${target}: ${problem.replace(/^.*: /, '')} ${size.replace(/\b[345]\d\d bytes/g, 'BYTES')}`)
  }
  t.strictSame(
    found,
    Object.entries(lengths).map(([target, [problem, size]]) => `${target}: ${problem} ${size}`),
  )
  await stop()
})

t.test('of an upload that its client aborts, the bytes that came are known, and no response was sent', async t => {
  const program = `
import express from 'express'
import Fastify from 'fastify'
import Koa from 'koa'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
const app = express().use(express.json())
app.post('/express', (request, response) => response.json(request.body))
const fastify = Fastify()
fastify.post('/fastify', async ({ body }) => body)
const koa = new Koa()
koa.silent = true
koa.use(async context => { context.body = await text(context.req) })
const sockets = []
const plain = createServer((request, response) => {
  if (request.url === '/read') response.end(String(sockets.at(-2)?.bytesRead ?? 0))
  else request.resume().on('error', () => {}).on('close', () => response.writeHead(400, { 'content-type': 'text/plain' }).end('bad'))
})
const servers = [app.listen(0), fastify.server, koa.listen(0), plain.listen(0)]
for (const server of servers) server.on('connection', socket => sockets.push(socket))
await fastify.listen({ port: 0 })
process.stdout.write(JSON.stringify(servers.map(server => server.address().port)) + '\\n')
process.stdin.on('end', () => process.exit()).resume()
`
  const { ports, stop, viewer } = await startExpress(t, program)
  const found: string[] = []
  for (const [at, name] of ['express', 'fastify', 'koa', 'plain'].entries()) {
    const headers = { 'content-type': 'application/json', 'content-length': '100000' }
    const upload = request({ port: ports[at], path: `/${name}`, method: 'POST', headers }).on('error', () => undefined)
    upload.write('x'.repeat(5000))
    const count = async () => (await fetch(`http://127.0.0.1:${ports[3]}/read`)).text()
    await until(async () => Number(await count()) > 5000)
    upload.destroy()
    const { data, summary } = await findProfile(viewer, `/${name}`, 'aborted')
    found.push(`${name}: ${summary.status} ${summary.size} ${JSON.stringify(data.request?.body)}`)
  }
  const body = { type: 'application/json', length: 5000, state: 'broken' }
  t.strictSame(
    found,
    ['express', 'fastify', 'koa', 'plain'].map(name => `${name}: 0 null ${JSON.stringify(body)}`),
  )
  await stop()
})
