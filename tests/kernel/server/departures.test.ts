import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  type KernelEvent,
  type Request,
  RequestEvent,
  ResponseEvent,
  ViewEvent,
} from 'sinfonietta'
import { type Test, t } from 'tap'
import type { EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { type BareServer, startBareServer } from '#tests/support/bare-server.ts'
import { closed, openConnection } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
const socketOf = ({ connection }: Request) => connection as Socket

/** The steps of a request that dispatches all events but `kernel.terminate`; the controller is a step, too. */
const steps: readonly (EventClass<KernelEvent> | 'controller')[] = [
  RequestEvent,
  ControllerEvent,
  ControllerArgumentsEvent,
  'controller',
  ViewEvent,
  ExceptionEvent,
  ResponseEvent,
  FinishRequestEvent,
]

/** Called at each step of each request; it may wait. */
type OnStep = (step: string, request: Request) => Promise<unknown> | undefined

/** Starts a server whose requests take all steps: the request for `/kernel.exception` also that of errors. */
async function startSteps(
  t: Test,
  onStep: OnStep,
  options: Parameters<typeof startBareServer>[2] = {},
): Promise<BareServer & { handled: readonly string[] }> {
  const handled: string[] = []
  const served = await startBareServer(
    t,
    request => {
      const pending = onStep('controller', request)
      return pending === undefined ? 'a value' : pending.then(() => 'a value')
    },
    options,
  )
  const { dispatcher } = served
  for (const type of steps) {
    if (type !== 'controller') dispatcher.on(type, ({ request }) => onStep(type.eventName, request))
  }
  dispatcher.on(RequestEvent, ({ request }) => void handled.push(request.path), 10)
  const answer = ({ path }: Request) => Response.text(`<${path}>`)
  dispatcher.on(
    ViewEvent,
    event => {
      if (event.request.path === '/kernel.exception') throw new Error('on purpose')
      event.respond(answer(event.request))
    },
    -10,
  )
  dispatcher.on(ExceptionEvent, event => event.respond(answer(event.request)), -10)
  return { ...served, handled }
}

const stepNames = steps.map(step => (step === 'controller' ? step : step.eventName))

/** How a client leaves at a step. */
const departures: Readonly<Record<string, (client: Socket, request: Request) => Promise<unknown> | undefined>> = {
  'before the step': (_client, request) => void socketOf(request).destroy(),
  'while it waits': (client, request) => {
    client.resetAndDestroy()
    return closed(socketOf(request))
  },
  'after it has waited': async (_client, request) => {
    await nextTurn()
    socketOf(request).destroy()
  },
}

/** A client leaves at each of the steps; a second request is behind the first. */
async function leaveAtEachStep(t: Test, leave: (client: Socket, request: Request) => Promise<unknown> | undefined) {
  const clients = new Map<string, Socket>()
  const { handled, port, records, terminated } = await startSteps(t, (step, request) => {
    const client = request.path === `/${step}` ? clients.get(step) : undefined
    return client === undefined ? undefined : leave(client, request)
  })
  const texts = stepNames.map(step => {
    const { received, socket } = openConnection(port)
    clients.set(step, socket)
    socket.write(get(`/${step}`) + get('/behind'))
    return received
  })
  await until(() => stepNames.every(step => handled.includes(`/${step}`)) && terminated.length >= handled.length)
  t.strictSame([...terminated].sort(), handled.map(path => `${path} false`).sort())
  t.strictSame(texts.map(received => received()).join(''), '', 'nothing is sent')
  t.strictSame(
    records.filter(({ level }) => level !== 'debug'),
    [],
  )
}

/** A request waits for too long at each of the steps. */
async function waitAtEachStep(t: Test) {
  const releases: (() => void)[] = []
  const { handled, port, terminated } = await startSteps(
    t,
    (step, { path }) => (path === `/${step}` ? new Promise<void>(resolve => releases.push(resolve)) : undefined),
    { answerTimeout: 100 },
  )
  const clients = stepNames.map(() => openConnection(port))
  for (const [index, { socket }] of clients.entries()) socket.write(get(`/${stepNames[index]}`))
  for (const { received, socket } of clients) {
    await closed(socket)
    t.match(received(), /^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*\r\n\r\nService Unavailable\n$/)
  }
  for (const release of releases) release()
  await until(() => terminated.length >= handled.length)
  t.strictSame([...terminated].sort(), handled.map(path => `${path} true`).sort())
}

/** A response comes after its 503, which waits behind a stream. */
async function answerAfterTimeout(t: Test) {
  const stream = new PassThrough()
  let release = (_response: Response) => {}
  const hang = () => new Promise<Response>(resolve => (release = resolve))
  const handler = ({ path }: Request) => (path === '/stream' ? Response.stream(stream) : hang())
  const { port, records, terminated } = await startBareServer(t, handler, { answerTimeout: 100 })
  const { received, socket } = openConnection(port)
  stream.write('begin ')
  socket.write(get('/stream') + get('/hang'))
  await until(() => records.some(({ message }) => message.startsWith('A request was not answered in time: ')))
  release(Response.text('too late'))
  await nextTurn()
  t.notOk(socket.destroyed)
  stream.end('end')
  await closed(socket)
  t.match(received(), /begin [\s\S]*end\r\n0\r\n\r\nHTTP\/1\.1 503 [\s\S]*\r\n\r\nService Unavailable\n$/)
  t.strictSame(terminated, ['/stream true', '/hang true'])
}

/** The client of a request leaves, and the request is never answered. */
async function leaveForever(t: Test) {
  let request: Request | undefined
  const hang = (asked: Request) => {
    request = asked
    return new Promise<Response>(() => {})
  }
  const { port, terminated } = await startBareServer(t, hang, { answerTimeout: 100 })
  const { socket } = openConnection(port)
  socket.write(get('/hang'))
  await until(() => request !== undefined)
  socket.destroy()
  await until(() => terminated.length > 0)
  t.strictSame(terminated, ['/hang false'])
}

t.test('at each step: requests whose client leaves, or that wait too long, are terminated once', async t => {
  // Together, because the server checks its requests once in a second.
  t.jobs = 5
  const tests = Object.entries(departures).map(([name, leave]) =>
    t.test(`the client leaves ${name}`, { buffered: true }, t => leaveAtEachStep(t, leave)),
  )
  await Promise.all([
    ...tests,
    t.test('the time is over', { buffered: true }, waitAtEachStep),
    t.test('the client leaves, and the time is over', { buffered: true }, leaveForever),
    t.test('a response comes after its 503', { buffered: true }, answerAfterTimeout),
  ])
})

/** Sends 100 requests over 10 connections; each of them waits at one of the steps until it is released. */
async function sendHundred(t: Test) {
  const releases: (() => void)[] = []
  const served = await startSteps(t, (step, { path }) => {
    const number = Number(path.slice(1))
    if (step !== stepNames[number % steps.length] && !(step === 'controller' && number % steps.length === 5)) return
    return new Promise<void>(resolve => releases.push(resolve))
  })
  const clients = Array.from({ length: 10 }, (_, client) => {
    const paths = Array.from({ length: 10 }, (_, index) => `/${client * 10 + index}`)
    const { received, socket } = openConnection(served.port)
    socket.write(paths.map(get).join(''))
    return { paths, received, socket }
  })
  await until(() => releases.length === 100)
  return { ...served, clients, releases }
}

t.test('close() while 100 requests wait: all are answered in order, and terminated once', async t => {
  const { clients, releases, server, terminated } = await sendHundred(t)
  const end = server.close()
  // The last come first: a response waits for those before it.
  for (const release of releases.reverse()) release()
  await end
  for (const { paths, received, socket } of clients) {
    await closed(socket)
    t.strictSame(
      [...received().matchAll(/<(.+?)>/g)].map(([, path]) => path),
      paths,
    )
    t.equal(received().match(/connection: close/gi)?.length, 1)
  }
  const expected = clients.flatMap(({ paths }) => paths.map(path => `${path} true`))
  t.strictSame([...terminated].sort(), expected.sort())
})

t.test('close() at its deadline: requests that were cut off are terminated once, when they are answered', async t => {
  const { clients, releases, server, terminated } = await sendHundred(t)
  await server.close({ deadline: 10 })
  t.strictSame(terminated, [])
  for (const release of releases) release()
  await until(() => terminated.length >= 100)
  const expected = clients.flatMap(({ paths }) => paths.map(path => `${path} false`))
  t.strictSame([...terminated].sort(), expected.sort())
})
