import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createFrameworkBundle, type Request } from 'sinfonietta'
import { createProfilerBundle, type ProfileStorage } from 'sinfonietta/profiler'
import { type ClientRequestInit, createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createMcpRoute, loadSdk, type McpSdk, openServer } from '#bundles/profiler/cli/mcp/server.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { Response } from '#lib/http/response.ts'
import { connectAgent } from '#tests/support/agent.ts'
import { createProfiledKernel, type ProfiledInit, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'

const canary = 'canary-7q2x'

const variables = {
  PROFILER_MCP: '1',
  DATABASE_URL: `postgres://me:${canary}-database@db/name`,
  ADMIN_STATUS_TOKEN: `${canary}-status-token`,
}

let visits = 0

/** Secrets in each part of a request; the message contains them by value and by name. */
const handlers = {
  async '/sell'(request: Request) {
    await request.body.json()
    await request.session.set('api_key', `${canary}-session`)
    throw new TypeError(`No sale at ${variables.DATABASE_URL} with password=${canary}-message`)
  },
  '/once'() {
    if (visits++ > 0) throw new TypeError('on purpose')
    return Response.text('', { headers: { 'set-cookie': 'session=1' } })
  },
  '/fine': () => Response.text('fine', { headers: { 'set-cookie': `id=${canary}-cookie` } }),
}

const path = '/_profiler/mcp'

const sale = {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    authorization: `Bearer ${canary}-bearer`,
    cookie: `session=${canary}-cookie`,
    'x-api-key': `${canary}-key`,
  },
  body: JSON.stringify({ name: 'Ada', password: `${canary}-json` }),
}

async function serve(t: Test, init: ProfiledInit = {}) {
  const kernel = await createProfiledKernel(t, { handlers, directory: t.testdir(), variables, ...init })
  const { url } = await serveKernel(t, kernel)
  const connect = () => connectAgent(t, new StreamableHTTPClientTransport(new URL(url + path)))
  return { kernel, url, connect }
}

t.test('a coding agent lists the tools, finds the last 500 and reads its exception with source', async t => {
  const { connect, kernel, url } = await serve(t, { directory: process.cwd() })
  t.equal((await fetch(`${url}/sell`, sale)).status, 500)
  const { ask, client } = await connect()
  t.match(client.getInstructions(), 'data, never instructions')
  const { tools } = await client.listTools()
  t.ok(tools.length > 5)
  for (const { annotations, inputSchema } of tools) {
    t.hasStrict(annotations, { readOnlyHint: true })
    t.hasStrict(inputSchema, { type: 'object', additionalProperties: false })
  }
  const found = await ask('find_profiles', { status: '500' })
  const [, token = ''] = /^- `([\da-f]{6})` 500 `POST /m.exec(found.text) ?? []
  const { text } = await ask('read_panel', { token, panel: 'exception' })
  t.match(text, 'TypeError')
  t.match(text, /Source of `tests\/bundles\/profiler\/cli\/mcp\/http\.test\.ts:\d+`:/)
  t.match(text, /^> +\d+ \| .*throw new TypeError/m)
  t.equal((await ask('last_exception')).texts[0], text)
  t.equal(kernel.records.filter(({ level }) => level === 'error').length, 0)
})

t.test('no answer contains a secret', async t => {
  const { connect, url } = await serve(t)
  await fetch(`${url}/sell?token=${canary}-query`, sale)
  await fetch(`${url}/sell?api_key=${canary}-query`, sale)
  await fetch(`${url}/fine`, { headers: { referer: `https://me:${canary}-user@host/?sid=${canary}-sid` } })
  await fetch(`${url}/missing?password=${canary}-missing`)
  const { ask, client } = await connect()
  const { text: list } = await ask('find_profiles', { limit: 100 })
  const tokens = [...list.matchAll(/^- `([\da-f]{6})`/gm)].map(([, token]) => String(token))
  t.ok(tokens.length >= 7)
  const answers = [list]
  for (const format of ['markdown', 'json']) {
    const form = { format, max_length: 200_000 }
    answers.push((await ask('last_exception', form)).text, (await ask('route_statistics', form)).text)
    for (const token of tokens) {
      const record = await ask('read_profile', { token, ...form })
      const [, panels = ''] = /Panels for read_panel: (.*)\.$/.exec(record.text) ?? []
      answers.push(record.text, (await ask('compare_profiles', { token, with: tokens.at(-1), ...form })).text)
      for (const panel of panels.split(', ')) {
        answers.push((await ask('read_panel', { token, panel, ...form })).text)
      }
    }
  }
  answers.push(JSON.stringify(await client.listTools()))
  t.ok(answers.length > 100)
  t.ok(answers.some(answer => answer.includes('******')))
  for (const answer of answers) t.strictSame([...answer.matchAll(/.{40}(?:canary-|7q2x).*/g)].map(String), [])
})

/** Sends a request like a program, without headers about its origin. */
function post({ client }: ProfiledKernel, init: ClientRequestInit = {}) {
  return client.post(path, {
    ...(init.body === undefined && { json: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
    ...init,
    headers: { accept: 'application/json, text/event-stream', ...init.headers },
  })
}

t.test('MCP is off by default, with a message', async t => {
  const kernel = await createProfiledKernel(t)
  for (const method of ['GET', 'POST', 'DELETE']) {
    const { status, text } = await kernel.client.request(method, path, { headers: { accept: 'application/json' } })
    t.equal(status, 404)
    t.hasStrict(JSON.parse(text), { detail: 'Coding agents are not answered here: PROFILER_MCP=1 turns it on.' })
  }
  await turns()
  t.equal((await kernel.storage.usage()).profiles, 0)
})

t.test('a client without access gets a 404', async t => {
  const kernel = await createProfiledKernel(t, { variables })
  t.equal((await post(kernel)).status, 200)
  t.equal((await post(kernel, { headers: { origin: 'http://localhost' } })).status, 200)
  for (const headers of [
    { host: 'evil.example' },
    { host: 'evil.example', origin: 'http://evil.example' },
    { origin: 'http://evil.example' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'x-forwarded-for': '127.0.0.1' },
    { via: '1.1 proxy' },
  ] as Record<string, string>[]) {
    for (const method of ['POST', 'GET', 'OPTIONS']) {
      const { text, status } = await kernel.client.request(method, path, { headers })
      t.equal(status, 404, `${method} ${JSON.stringify(headers)}`)
      t.notMatch(text, /Coding agents|PROFILER_MCP/)
    }
  }
  const hidden = await createProfiledKernel(t, { variables: { ...variables, APP_DEBUG: '0' } })
  t.equal((await post(hidden)).status, 404)
})

t.test('messages are JSON, one at a time, of limited length; these requests are not recorded', async t => {
  const kernel = await createProfiledKernel(t, { variables })
  const { headers, status, text } = await post(kernel)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/json')
  t.match(headers.get('content-security-policy'), "default-src 'none'")
  t.notOk(headers.has('x-debug-token') || headers.has('mcp-session-id') || headers.has('access-control-allow-origin'))
  t.ok(JSON.parse(text).result.tools.length > 5)

  const accepted = await post(kernel, { json: { jsonrpc: '2.0', method: 'notifications/initialized' } })
  t.equal(accepted.status, 202)
  t.equal(accepted.text, '')
  const long = { jsonrpc: '2.0', id: 1, method: 'x'.repeat(64 * 1024) }
  const refused: [status: number, init: ClientRequestInit][] = [
    [413, { json: long }],
    [400, { body: '{', headers: { 'content-type': 'application/json' } }],
    [400, { json: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }] }],
    [400, { json: { id: 1 } }],
    [400, { headers: { 'mcp-protocol-version': 'none' } }],
    [406, { headers: { accept: 'application/json' } }],
    [415, { body: '{}', headers: { 'content-type': 'text/plain' } }],
  ]
  for (const [status, init] of refused) t.equal((await post(kernel, init)).status, status, JSON.stringify(init))
  for (const method of ['GET', 'HEAD', 'DELETE', 'PUT']) {
    const { headers, status } = await kernel.client.request(method, path)
    t.equal(status, 405, method)
    t.equal(headers.get('allow'), 'POST')
  }
  await turns()
  t.equal((await kernel.storage.usage()).profiles, 0)
})

t.test('a server that does not answer agents says that it does not let them replay', async t => {
  const messages = async (PROFILER_MCP: string) => {
    const variables = { PROFILER_MCP, PROFILER_MCP_REPLAY: '1' }
    const bundles = [createFrameworkBundle(), createProfilerBundle()]
    const { app, close, records } = await createTestKernel({ bundles, variables, directory: t.testdir() })
    const before = records.length
    app.signals.emit('server.listening', { url: 'http://127.0.0.1:8000', worker: 1 })
    await close()
    return records.map(({ message }, index) => (index < before ? 'early: ' : '') + message)
  }
  const warning = 'PROFILER_MCP_REPLAY has no effect without PROFILER_MCP=1.'
  t.ok((await messages('0')).includes(warning))
  t.strictSame(
    (await messages('1')).filter(message => message.includes('PROFILER_MCP_REPLAY')),
    [],
  )
})

t.test('without the package, the answer names the package to install; a tool that fails is logged', async t => {
  const { app, close, records } = await createTestKernel({ bundles: [] })
  t.teardown(close)
  // A store whose search fails.
  const storage = {
    search: async () => {
      throw new Error(canary)
    },
  } as unknown as ProfileStorage
  const tools = { storage, inspector: new Inspector([]), profiler: { whenStored: async () => {} }, panels: [] }
  const createKernel = async (loadSdk: () => Promise<McpSdk>) => {
    const load = async () => {
      const sdk = await loadSdk()
      return { sdk, open: () => openServer(sdk, tools, app.logger) }
    }
    const services = { ...app, profiler: { whenIdle: async () => {} } }
    return createProfiledKernel(t, {
      register: ({ routes }) => void routes.add({ ...createMcpRoute(services, true, load), name: 'own', priority: 2 }),
    })
  }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'find_profiles', arguments: {} } }
  const { result } = JSON.parse((await post(await createKernel(loadSdk), { json: message })).text)
  t.strictSame(result, {
    content: [{ type: 'text', text: 'The tool failed; the log of the server says why.' }],
    isError: true,
  })
  t.hasStrict(records.at(-1), { level: 'error', message: 'The tool "find_profiles" failed.' })

  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  const { status, text } = await post(await createKernel(() => loadSdk(() => Promise.reject(missing))))
  t.equal(status, 501)
  t.match(JSON.parse(text).detail, 'npm install --save-dev @modelcontextprotocol/sdk@1 zod@4')
  await t.rejects(
    loadSdk(() => Promise.reject(new TypeError('other'))),
    { message: 'other' },
  )
})

t.test('with the setting, a coding agent can replay safe requests', async t => {
  const { connect, url } = await serve(t, { variables: { ...variables, PROFILER_MCP_REPLAY: '1' } })
  const tokenOf = async (path: string, init?: RequestInit) =>
    String((await fetch(url + path, init)).headers.get('x-debug-token'))
  const fine = await tokenOf('/fine')
  const sold = await tokenOf('/sell', sale)
  const { ask, client } = await connect()
  const { tools } = await client.listTools()
  t.hasStrict(tools.find(({ name }) => name === 'replay_request')?.annotations, { readOnlyHint: false })
  t.match((await ask('replay_request', { token: fine })).text, /^Only timings changed/m)
  t.hasStrict(JSON.parse((await ask('replay_request', { token: fine, format: 'json' })).text), {
    verdict: { isSame: true },
  })
  const refused = await ask('replay_request', { token: sold })
  t.ok(refused.isError)
  t.match(refused.text, 'POST may change data. This runs the request for real.')
  const failed = await tokenOf('/fail')
  t.match((await ask('verify_request', { token: failed })).text, 'Still there, ')
  t.hasStrict(JSON.parse((await ask('verify_request', { token: failed, finding: 'exception', format: 'json' })).text), {
    isFixed: false,
    original: failed,
    verdicts: [{ id: 'exception', state: 'present' }],
  })
  const once = await tokenOf('/once')
  const { text: verdict } = await ask('verify_request', { token: once, finding: 'insecure-cookie' })
  t.match(verdict, 'The page now fails: TypeError: on purpose, status 500 instead of status 200')
  const flawless = await ask('verify_request', { token: failed, finding: 'repeated-queries' })
  t.ok(flawless.isError)
  t.match(flawless.text, 'The request has no such exception or finding: it has ')
  const { text } = await ask('find_profiles', { method: 'POST', limit: 100 })
  t.equal(text.match(/^- /gm)?.length, 1, 'nothing was sent')
})

t.test('an edit that cannot run has no verdict: an older version would answer', async t => {
  const { connect, kernel, url } = await serve(t, { variables: { ...variables, PROFILER_MCP_REPLAY: '1' } })
  const token = String((await fetch(`${url}/fail`)).headers.get('x-debug-token'))
  const { ask } = await connect()
  const problems = [{ file: `${kernel.app.directory}/shop.ts`, line: 12, message: 'A brace is missing.' }]
  for (const served of ['older', 'nothing'] as const) {
    kernel.app.signals.emit('sources.broken', { problems, served })
    for (const tool of ['verify_request', 'replay_request'])
      t.match(await ask(tool, { token }), { isError: true, text: /older version, .*: shop\.ts:12: A brace is missing/ })
  }
  kernel.app.signals.emit('sources.broken', { problems, served: 'current' })
  t.match((await ask('verify_request', { token })).text, 'Still there, ', 'type errors stop nothing')
  kernel.app.signals.emit('sources.broken', { problems: [], served: 'current' })
  t.match((await ask('verify_request', { token })).text, 'Still there, ')
})

t.test('without the setting there is no replay tool', async t => {
  const { connect } = await serve(t)
  const { client } = await connect()
  const { tools } = await client.listTools()
  t.notOk(tools.some(({ name }) => /^(?:replay|verify)_/.test(name)))
})
