import type { Test } from 'tap'
import { type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Answers each message by its number, after an HTTP client call and a line of the console with it. */
const work = `
import { createServer } from 'node:http'
const settings = { port: 0 }
const work = async ({ number, fails }) => {
  await (await fetch('http://127.0.0.1:' + settings.port + '/inner?number=' + number)).text()
  await new Promise(resolve => setTimeout(resolve, number % 7))
  console.log('number', number)
  if (fails) throw new TypeError('no such number')
  return number
}
process.on('unhandledRejection', () => undefined)
const server = createServer((_, reply) => reply.end('inner'))
`

const listening = `
server.listen(0, '127.0.0.1', () => {
  settings.port = server.address().port
  console.log(JSON.stringify([settings.port]))
})
process.stdin.on('end', () => process.exit()).resume()
`

/** What checks a kind of messages. */
interface Messages {
  readonly source: string
  /** The packages of its `package.json`. */
  readonly packages?: readonly string[]
  readonly route: string
  /** The route and the status of the request that opens a connection. */
  readonly upgrade: readonly [route: string, status: number]
  /** Opens a connection; the returned function sends a message, and resolves with its answer. */
  open(url: string): Promise<{ send(data: object): Promise<number>; close(): void }>
}

/** Programs that serve messages. */
export const serveMessages: Readonly<Record<'ws' | 'fastify' | 'socketIo' | 'nestWs' | 'nestSocketIo', Messages>> = {
  ws: {
    source: `
import { WebSocketServer } from 'ws'
const sockets = new WebSocketServer({ server })
sockets.on('connection', socket => {
  const answer = async data => socket.send(String(await work(JSON.parse(data))))
  socket.on('message', answer)
  const never = () => socket.send('-1')
  socket.on('message', never)
  if (socket.listeners('message')[1] !== never) process.exit(1)
  socket.off('message', never)
  socket.once('message', () => undefined)
})`,
    route: 'message /chat ask',
    upgrade: ['GET /chat', 101],
    open: openSocket,
  },
  fastify: {
    source: `
import fastify from 'fastify'
import websocket from '@fastify/websocket'
const [answerInner] = server.listeners('request')
server.removeAllListeners('request')
const serverFactory = handle =>
  server.on('request', (message, reply) => (message.url.startsWith('/inner') ? answerInner : handle)(message, reply))
const app = fastify({ serverFactory })
await app.register(websocket)
app.get('/chat', { websocket: true }, socket => {
  socket.on('message', async data => socket.send(String(await work(JSON.parse(data)))))
})
await app.ready()`,
    route: 'message /chat ask',
    upgrade: ['GET /chat', 101],
    open: openSocket,
  },
  socketIo: {
    source: `
import { Server } from 'socket.io'
new Server(server).on('connection', socket => {
  socket.on('ask', async (data, answer) => answer(await work(data)))
  socket.on('disconnect', () => undefined)
})`,
    route: 'message ask',
    upgrade: ['GET /socket.io/', 200],
    open: openIo,
  },
  nestWs: {
    ...nest("import { WsAdapter } from '@nestjs/platform-ws'", 'new WsAdapter(server)', "{ path: '/chat' }"),
    route: 'message /chat ask',
    upgrade: ['GET /chat', 101],
    open: url => openSocket(url, data => ({ event: 'ask', data })),
  },
  nestSocketIo: {
    ...nest("import { IoAdapter } from '@nestjs/platform-socket.io'", 'new IoAdapter(server)', ''),
    route: 'message ask',
    upgrade: ['GET /socket.io/', 200],
    open: openIo,
  },
}

/** A gateway of Nest, without the syntax of decorators. */
function nest(imports: string, adapter: string, options: string): Pick<Messages, 'source' | 'packages'> {
  const source = `
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { Module } from '@nestjs/common'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
${imports}
class Chat {
  ask(_, data) {
    return work(data)
  }
}
SubscribeMessage('ask')(Chat.prototype, 'ask', Object.getOwnPropertyDescriptor(Chat.prototype, 'ask'))
WebSocketGateway(${options})(Chat)
class App {}
Module({ providers: [Chat] })(App)
const app = await NestFactory.create(App, { logger: false })
app.useWebSocketAdapter(${adapter})
await app.init()`
  return { source, packages: ['@nestjs/core', '@nestjs/websockets'] }
}

async function openIo(url: string): ReturnType<Messages['open']> {
  const { io } = await import('socket.io-client')
  const socket = io(url)
  await new Promise<void>(resolve => socket.once('connect', () => resolve()))
  return { send: data => socket.emitWithAck('ask', data), close: () => void socket.close() }
}

/** Opens a connection of ws. */
async function openSocket(
  url: string,
  wrap = (data: object): object => ({ type: 'ask', ...data }),
): ReturnType<Messages['open']> {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(`${url.replace('http', 'ws')}/chat?key=1`)
  socket.setMaxListeners(0)
  await new Promise(resolve => socket.once('open', resolve))
  return {
    send(data) {
      const { number } = data as { readonly number: number }
      const answered = new Promise<number>(resolve => {
        const take = (text: unknown) => {
          if (String(text) !== String(number)) return
          socket.off('message', take)
          resolve(number)
        }
        socket.on('message', take)
      })
      socket.send(JSON.stringify(wrap(data)))
      return answered
    },
    close: () => socket.close(),
  }
}

interface MessageData {
  readonly unit: { readonly input: unknown; readonly message: { readonly connection: string; readonly event: string } }
  readonly http: { readonly calls: readonly { readonly url: string }[] }
  readonly console: { readonly entries: readonly { readonly values: readonly { readonly text: string }[] }[] }
}

/** Sends `count` messages at once on four connections, and one that fails. Each must have its own calls and lines. */
export async function checkMessages(t: Test, { open, packages = [], route, source, upgrade }: Messages, count: number) {
  const manifest = { dependencies: Object.fromEntries(packages.map(name => [name, '*'])) }
  const cwd = t.testdir({ 'package.json': JSON.stringify(manifest), node_modules: {} })
  const { stop, url, viewer } = await startProfiled(t, work + source + listening, {}, cwd)
  const sockets = await Promise.all([0, 1, 2, 3].map(() => open(url)))
  const secret = { password: 'hunter22' }
  const answers = Array.from({ length: count }, (_, number) => sockets[number % 4]?.send({ number, ...secret }))
  t.strictSame(await Promise.all(answers), [...Array(count).keys()])
  sockets[0]?.send({ number: count, fails: true }).catch(() => undefined)
  let found: readonly ProfileData['summary'][] = []
  await until(async () => {
    const response = await fetch(`${viewer}/_profiler/search.json?limit=1000&type=message`)
    found = ((await response.json()) as { records: ProfileData[] }).records.map(({ summary }) => summary)
    return found.filter(({ outcome }) => outcome === 'complete' || outcome === 'failed').length > count
  }, 60)
  const wrong: string[] = []
  const seen = new Set<string>()
  /** The tokens of the requests, by the connections. */
  const causes = new Map<string, string>()
  for (const { cause, outcome, route: name, token } of found) {
    const { data } = await readProfile(viewer, token)
    const { console, http, unit } = data as unknown as MessageData
    const called = http.calls.map(call => call.url.split('=')[1]).join()
    const printed = console.entries.map(({ values }) => values.map(({ text }) => text).join(' ')).join()
    const isRight = printed === `number ${called}` && unit.message.event === 'ask' && name === route
    const isSameInput = JSON.stringify(unit.input).includes(`"text":"${called}"`)
    const hasFailed = outcome === 'failed'
    if (!isRight || !isSameInput || hasFailed !== (called === String(count)) || cause === undefined)
      wrong.push(`${name} ${called}: ${printed} ${outcome} ${cause} ${JSON.stringify(unit)}`)
    causes.set(unit.message.connection, String(cause))
    seen.add(called)
    if (JSON.stringify(data).includes('hunter22')) wrong.push(`${called}: a secret`)
  }
  t.strictSame(wrong, [], 'each message has its own calls, lines and input')
  t.equal(seen.size, count + 1)
  t.equal(new Set(causes.values()).size, 4, 'each connection has its request')
  for (const token of causes.values()) {
    const { data, summary } = await readProfile(viewer, token)
    t.match(summary, { outcome: 'complete', route: upgrade[0], status: upgrade[1], exception: null })
    t.notMatch(JSON.stringify(data), 'number', 'it has nothing of the messages')
    const page = await (await fetch(`${viewer}/_profiler/${token}`)).text()
    const ofSocket = found.filter(({ cause }) => cause === token)
    const { length } = ofSocket.filter(each => page.includes(`href="/_profiler/${each.token}"`))
    t.equal(length, Math.min(25, ofSocket.length))
    t.equal(page.includes(`25 of ${ofSocket.length}`), ofSocket.length > 25)
    const failed = ofSocket.find(({ outcome }) => outcome === 'failed')
    if (failed !== undefined) t.match(page, `href="/_profiler/${failed.token}"`)
    t.match(page, upgrade[1] === 101 ? /was upgraded to <[^>]*>websocket/ : /took/)
  }
  for (const socket of sockets) socket.close()
  await stop()
}
