import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { Readable } from 'node:stream'
import {
  type Bundle,
  createFrameworkBundle,
  EventStream,
  FinishRequestEvent,
  HttpError,
  type Logger,
  type Request,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
  WebSocketUpgrade,
} from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createRequest, createTerminateEvent, createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { readEventTree, readHandledTime } from '#bundles/profiler/profile/event-tree.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { summarize } from '#bundles/profiler/record/collect.ts'
import { Profiler } from '#bundles/profiler/record/profiler.ts'
import { RecordingPolicy } from '#bundles/profiler/record/recording-policy.ts'
import type { CollectedData, Trace } from '#bundles/profiler/record/trace.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { subjectViews } from '#bundles/profiler/subjects/views.ts'
import { toToolbarView } from '#bundles/profiler/web/toolbar/toolbar-view.ts'
import { defineController } from '#kernel/controller.ts'
import { reportFailures } from '#lib/guard.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createSignals } from '#lib/signals.ts'
import { createShown } from '#tests/support/create-profile.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { createProfiledKernel, type ProfiledInit, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { openConnection, serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'
import { until } from '#tests/support/until.ts'

/** A gate that allows each client. */
const openGate = { allows: () => true }

/** A promise, and the function that resolves it. */
function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** A server with a profiler, on a socket. */
async function startRecording(t: Test, init: ProfiledInit) {
  const kernel = await createProfiledKernel(t, init)
  const { storage } = kernel
  /** Waits until the profile of the only request fulfils a condition. */
  async function only(isWanted: (profile: Profile) => boolean = () => true): Promise<Profile> {
    const found: Profile[] = []
    await until(async () => {
      const { summaries } = await storage.search({ limit: 10 })
      const main = summaries.find(({ parent }) => parent === null)
      const profile = main && (await storage.find(main.token))?.profile
      return profile !== undefined && isWanted(profile) && found.push(profile)
    })
    return found[0] as Profile
  }
  return { ...(await serveKernel(t, kernel)), storage, only, show: kernel.show }
}

/** Starts a server that other code calls, and returns its URL. */
async function startUpstream(t: Test, onRequest: () => void): Promise<string> {
  const server = createServer((_message, reply) => {
    onRequest()
    reply.end('here')
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function messagesOf({ data }: Profile): unknown[] {
  return Object(data.exception).exceptions?.map(({ message }: { message: string }) => message)
}

t.test('a sub-request that outlives its request is unfinished, and updated when it ends', async t => {
  const gate = createGate()
  const { client, profileOf, storage } = await createProfiledKernel(t, {
    register({ kernel, routes }) {
      const late = defineController('late', async () => {
        await gate.opened
        return Response.text('late')
      })
      const controller = (request: Request) => {
        void kernel.forward(request, late)
        return Response.text('at once')
      }
      routes.add({ name: 'detached', path: '/detached', controller })
    },
  })
  const main = await profileOf(await client.get('/detached'))
  const [token = ''] = main.children
  const before = await waitForProfile(storage, token)
  t.hasStrict(before.summary, { outcome: 'unfinished', status: 0, parent: main.summary.token, controller: 'late' })
  gate.open()
  const after = await waitForProfile(storage, token, ({ summary }) => summary.outcome === 'complete')
  t.hasStrict(after.summary, { status: 200, parent: main.summary.token })
})

t.test('a sub-request that begins after its request is recorded, and linked from its parent', async t => {
  const gate = createGate()
  const { client, profileOf, storage } = await createProfiledKernel(t, {
    register({ kernel, routes }) {
      const controller = (request: Request) => {
        void gate.opened.then(() => kernel.forward(request, () => Response.text('late')))
        return Response.text('at once')
      }
      routes.add({ name: 'detached', path: '/detached', controller })
    },
  })
  const main = await profileOf(await client.get('/detached'))
  t.strictSame(main.children, [])
  gate.open()
  const amended = await waitForProfile(storage, main.summary.token, ({ children }) => children.length === 1)
  t.equal(amended.summary.subRequests, 1)
  t.hasStrict((await waitForProfile(storage, String(amended.children[0]))).summary, {
    outcome: 'complete',
    status: 200,
  })
})

t.test('a page of the profiler in progress does not count as a concurrent request', async t => {
  const gate = createGate()
  const routed = 12
  const { client, profileOf } = await createProfiledKernel(t, {
    register({ dispatcher }) {
      const wait = ({ request }: RequestEvent) => (request.path.startsWith('/_profiler/') ? gate.opened : undefined)
      dispatcher.on(RequestEvent, wait, routed)
    },
  })
  const own = client.get('/_profiler/latest')
  const { data } = await profileOf(await client.get('/text'))
  t.hasStrict(data.memory, { requests: { others: 0, most: 0 } })
  gate.open()
  t.equal((await own).headers.get('x-debug-token'), null)
})

t.test("the profiler's own pages are neither collected nor logged", async t => {
  let collected = 0
  const { client, records } = await createProfiledKernel(t, {
    register({ collectors }) {
      collectors.push({ name: 'counter', collect: () => ++collected })
    },
  })
  await client.get('/text')
  await turns()
  t.equal(collected, 1)
  const before = records.length
  const targets = ['/_profiler/', '/_profiler/empty/search/results', '/_profiler/latest', '/_profiler/latest.json']
  for (const target of [...targets, '/_profiler/routes', '/_wdt/abcdef', '/_profiler/nowhere']) await client.get(target)
  await turns()
  t.equal(collected, 1)
  t.strictSame(
    records.slice(before).map(({ message }) => message),
    [],
  )
})

t.test('a request whose client leaves before the answer is aborted', async t => {
  const gate = createGate()
  const arrived = createGate()
  const handlers = {
    '/waits': async () => {
      arrived.open()
      await gate.opened
      return Response.text('for no client')
    },
  }
  const { only, port } = await startRecording(t, { handlers })
  const { socket } = openConnection(port)
  socket.write('GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await arrived.opened
  socket.destroy()
  // It takes some turns of the event loop, not a fixed time.
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setTimeout(resolve, 5))
  gate.open()
  t.hasStrict((await only()).summary, { outcome: 'aborted', status: 200, route: '/waits' })
})

t.test('the work that a request begins after its client has left is known, and none that was under way', async t => {
  const [left, asked] = [createGate(), createGate()]
  const upstream = await startUpstream(t, () => asked.open())
  const waits = async (request: Request) => {
    const underWay = fetch(upstream)
    await left.opened
    await underWay
    for (let count = 0; count < 2; count++) await (await fetch(upstream)).text()
    return Response.text(String(request.hasClientLeft))
  }
  const { only, port } = await startRecording(t, { handlers: { '/waits': waits } })
  const { socket } = openConnection(port)
  socket.write('GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await asked.opened
  socket.destroy()
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setTimeout(resolve, 5))
  left.open()
  const [finding] = findFindings(await only()).filter(({ rule }) => rule === 'late-work')
  t.equal(finding?.problem, 'Work began after the client had left: 2 HTTP client calls.')
})

t.test('a request whose client leaves in the middle of a large page is aborted', async t => {
  const handlers = { '/large': () => Response.text('x'.repeat(20e6)) }
  const { only, port } = await startRecording(t, { handlers })
  const { socket } = openConnection(port)
  socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n')
  socket.once('data', () => socket.destroy())
  const { summary } = await only()
  t.strictSame([summary.outcome, summary.status, summary.route], ['aborted', 200, '/large'])
})

t.test('an error of a listener of kernel.terminate is one after the response', async t => {
  const { only, url } = await startRecording(t, {
    register({ dispatcher }) {
      dispatcher.on(TerminateEvent, () => {
        throw new Error('The mail server is gone.')
      })
    },
  })
  await fetch(`${url}/text`)
  const [finding] = findFindings(await only())
  t.match(finding, { rule: 'late-error', values: { error: 'Error: The mail server is gone.' } })
})

t.test('log messages of listeners of kernel.terminate are in the profile', async t => {
  const { only, url } = await startRecording(t, {
    register({ dispatcher, logger }) {
      dispatcher.on(TerminateEvent, async () => {
        logger.info('At once.')
        await new Promise(resolve => setTimeout(resolve, 5))
        logger.info('A little later.')
      })
    },
  })
  await (await fetch(`${url}/text`)).text()
  const { data } = await only()
  const messages: string[] = Object(data.logger).records.map(({ message }: { message: string }) => message)
  t.strictSame(messages.slice(-2), ['At once.', 'A little later.'])
})

t.test('a profile is updated at most eight times, also after the client has left', async t => {
  const { profiler } = createBareProfiler(trace => ({
    summary: summarize(trace, new Redactor()),
    data: {},
    failures: {},
    pending: undefined,
  }))
  const countAmendments = async (isSent: boolean) => {
    const trace = profiler.begin(createRequest('/'))
    if (trace === undefined) throw new Error('It is recorded.')
    profiler.terminate(trace, createTerminateEvent({ isSent }))
    await profiler.whenIdle()
    return Array.from({ length: 10 }, () => {
      trace.touch()
      trace.hasUpdate = false
      return trace.updates
    })
  }
  t.strictSame(await countAmendments(true), [1, 2, 3, 4, 5, 6, 7, 8, 8, 8])
  t.strictSame(await countAmendments(false), [1, 2, 3, 4, 5, 6, 7, 8, 8, 8])
})

t.test('a stream is complete when all of it was sent', async t => {
  const gate = createGate()
  async function* parts() {
    yield 'one '
    await gate.opened
    yield 'two'
  }
  const handlers = { '/parts': () => Response.stream(Readable.from(parts())) }
  const { only, storage, url } = await startRecording(t, { handlers })
  const response = await fetch(`${url}/parts`)
  const token = response.headers.get('x-debug-token')
  t.notOk(storage.has(String(token)), 'the request is in progress')
  await new Promise(resolve => setTimeout(resolve, 30))
  gate.open()
  t.equal(await response.text(), 'one two')
  const profile = await only()
  t.hasStrict(profile.summary, { token, outcome: 'complete', status: 200 })
  t.ok(profile.summary.duration >= 29, 'its total ends with the last byte')
  t.ok(readHandledTime(profile) < profile.summary.duration - 20)
  const { items } = toToolbarView({ ...createShown({}), profile })
  t.ok(JSON.stringify(items).includes('"Sending"'))
})

t.test('a stream whose client leaves is aborted', async t => {
  const { only, port } = await startRecording(t, {
    handlers: { '/endless': () => Response.stream(Readable.from(endless())) },
  })
  const { socket } = openConnection(port)
  socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
  socket.once('data', () => socket.destroy())
  t.match((await only()).summary, { outcome: 'aborted', route: '/endless' })
})

t.test('the profile of an open stream of events is written at once, and again at its end', async t => {
  let opened: EventStream | undefined
  const handlers = {
    '/prices': (request: Request) =>
      new EventStream(request, stream => {
        opened = stream
      }),
  }
  const { client, profileOf, show, storage } = await createProfiledKernel(t, { handlers })
  const response = await client.open('/prices')
  const open = await profileOf(response)
  t.strictSame([open.summary.outcome, open.summary.status, open.collectors.response?.events], ['unfinished', 200, 0])
  t.match(await show('request', open), 'Recorded before the request was complete')
  await response.readUntil(':\n\n')
  for (const data of ['a', 'b', 'c']) opened?.send({ data })
  await response.readUntil('data: c')
  await response.close()
  const over = await waitForProfile(storage, open.summary.token, ({ summary }) => summary.outcome === 'aborted')
  t.equal(over.collectors.response?.events, 3)
  t.equal((await storage.usage()).profiles, 1)
  t.match(await show('request', over), 'not known (streamed; 3 events)')
  t.match(toMarkdown({ ...createShown({}), profile: over }), '\nBody: not known (streamed; 3 events)\n')
})

t.test('the handshake of a WebSocket is recorded, whether it is accepted or refused', async t => {
  const handlers = {
    '/talk': (request: Request) => new WebSocketUpgrade(request, (_message, socket) => socket.end('done')),
  }
  const { app, profileOf, show, storage } = await createProfiledKernel(t, { handlers })
  const { raw } = await serveKernel(t, { app })
  const handshake = (more = '') =>
    raw(`GET /talk HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`)
  t.equal(await handshake(), 'done')
  await until(async () => (await storage.usage()).profiles === 1)
  const [accepted] = (await storage.search({ limit: 1 })).summaries
  t.hasStrict(accepted, { route: '/talk', status: 101, outcome: 'complete' })
  const profile = await profileOf({ headers: { get: () => String(accepted?.token) } })
  t.match(await show('request', profile), '101 Switching Protocols')
  t.match(await handshake('Origin: https://evil.test\r\nConnection: close\r\n'), /^HTTP\/1\.1 403/)
})

t.test('a stream of events that has ended before its profile was written is written once', async t => {
  const handlers = { '/prices': (request: Request) => new EventStream(request, stream => stream.end()) }
  const { client, profileOf } = await createProfiledKernel(t, { handlers })
  const response = await client.get('/prices')
  t.equal(response.text, ':\n\n')
  t.equal((await profileOf(response)).summary.outcome, 'complete')
})

t.test('a stream that fails is recorded with its error, and with its log message', async t => {
  const { only, raw, show } = await startRecording(t, {})
  await raw('GET /stream-fails HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const profile = await only()
  const { errors, exception, outcome, status } = profile.summary
  t.strictSame([outcome, status, exception, errors], ['stream-failed', 200, 'Error', 1])
  t.strictSame(messagesOf(profile), ['the source has dried up'])
  t.match(profile.data.exception, { excerpts: [{ file: 'tests/support/probe-bundle.ts' }] })
  t.match(Object(profile.data.logger).records.at(-1), {
    level: 'error',
    message: 'A response was cut off: its stream failed.',
    context: { sentBytes: 4 },
    exceptions: { exception: { message: 'the source has dried up' } },
  })
  t.equal(profile.collectors.response?.sent, 4)
  t.match(toMarkdown({ ...createShown({}), profile }), '\nBody: not known (streamed; 4 bytes sent)\n')
  t.match(await show('exception', profile), 'The response was cut off after 4 bytes: its stream failed.')
  t.match(await show('request', profile), 'not known (streamed; 4 bytes sent)')
})

t.test('a stream of invalid content is recorded with its error', async t => {
  const declared = { headers: { 'content-length': '3' } }
  const handlers = { '/longer': () => Response.stream(Readable.from(['ab', 'cd']), declared) }
  const { only, raw } = await startRecording(t, { handlers })
  await raw('GET /longer HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const profile = await only()
  t.equal(profile.summary.outcome, 'stream-failed')
  t.strictSame(messagesOf(profile), [
    'The stream of a response cannot be sent: it is longer than its Content-Length of 3.',
  ])
})

for (const kind of ['a generator', 'a web stream', 'a compressed stream']) {
  t.test(`the actions of ${kind} while it is read are in the profile of its request`, async t => {
    let base = ''
    let logger: Logger | undefined
    async function* parts() {
      for (let part = 1; part <= 5; part++) {
        await new Promise(resolve => setTimeout(resolve, 2))
        logger?.info('Part {part}.', { part })
        if (part > 2) await (await fetch(`${base}/empty`)).text()
        // More than the buffers hold: the next part waits until the client reads.
        yield 'x'.repeat(part === 3 ? 8e6 : 1000)
      }
    }
    const type = kind === 'a compressed stream' ? 'text/plain' : 'application/octet-stream'
    const stream = () =>
      kind === 'a web stream' ? Readable.fromWeb(ReadableStream.from(parts())) : Readable.from(parts())
    const handlers = { '/parts': () => Response.stream(stream(), { headers: { 'content-type': type } }) }
    const { only, url } = await startRecording(t, {
      handlers,
      ignoredPaths: ['/empty'],
      register: app => {
        logger = app.logger
      },
    })
    base = url
    t.equal((await (await fetch(`${url}/parts`)).text()).length, 8_004_000)
    const { data, summary } = await only()
    t.strictSame([summary.outcome, summary.calls], ['complete', 3])
    const messages = Object(data.logger).records.map(({ message }: { message: string }) => message)
    t.strictSame(
      messages.filter((message: string) => message.startsWith('Part')),
      [1, 2, 3, 4, 5].map(n => `Part ${n}.`),
    )
  })
}

t.test('a stream that fails before its first chunk is a request that fails', async t => {
  const fails = () =>
    new Readable({
      async read() {
        await new Promise(resolve => setTimeout(resolve, 5))
        this.destroy(new HttpError(503, 'The database is gone.'))
      },
    })
  const { only, url } = await startRecording(t, { handlers: { '/fails': () => Response.stream(fails()) } })
  const response = await fetch(`${url}/fails`)
  t.equal(response.status, 503)
  t.match(await response.text(), 'The database is gone.')
  const profile = await only()
  t.equal(response.headers.get('x-debug-token'), profile.summary.token)
  const { exception, outcome, status, subRequests } = profile.summary
  t.strictSame([outcome, status, exception, subRequests], ['complete', 503, 'HttpError', 1])
  t.strictSame(messagesOf(profile), ['The database is gone.'])
  const { nodes } = readEventTree(profile)
  t.strictSame(
    nodes.filter(({ kind }) => kind === 'dispatch').map(({ name }) => name.replace('kernel.', '')),
    [
      ...['request', 'controller', 'controller_arguments', 'response', 'finish_request'],
      ...['exception', 'response', 'finish_request', 'terminate'],
    ],
  )
})

/** Calls only the newest monitor: a call of all monitors would fail this test. */
function crash(error: Error): void {
  process.listeners('uncaughtExceptionMonitor').at(-1)?.(error, 'uncaughtException')
}

async function* endless() {
  for (;;) {
    yield 'x'.repeat(1000)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

t.test('an error of a listener that fails once is recorded like any other error', async t => {
  for (const type of [ResponseEvent, FinishRequestEvent]) {
    const { client, profileOf } = await createProfiledKernel(t, {
      register({ dispatcher }) {
        const fail = ({ isMainRequest }: { isMainRequest: boolean }) => {
          remove()
          if (isMainRequest) throw new Error(`failed in ${type.eventName}`)
        }
        const remove = dispatcher.on<ResponseEvent | FinishRequestEvent>(type, fail)
      },
    })
    const profile = await profileOf(await client.get('/text'))
    t.hasStrict(profile.summary, { outcome: 'complete', status: 500, exception: 'Error', subRequests: 1 })
    t.strictSame(messagesOf(profile), [`failed in ${type.eventName}`])
  }
})

t.test('with a listener that always fails, also on the error page, the profile is still recorded', async t => {
  for (const type of [ResponseEvent, FinishRequestEvent, TerminateEvent]) {
    const { client, storage } = await createProfiledKernel(t, {
      register({ dispatcher }) {
        let count = 0
        const fail = () => {
          throw new Error(`failure ${++count}`)
        }
        dispatcher.on<ResponseEvent | FinishRequestEvent | TerminateEvent>(type, fail)
      },
    })
    await client.get('/text')
    await turns()
    const { summaries } = await storage.search({ limit: 10 })
    const [main] = summaries.filter(({ parent }) => parent === null)
    t.hasStrict(
      main,
      { outcome: 'complete', status: type === TerminateEvent ? 200 : 500, exception: 'Error' },
      type.eventName,
    )
    const profile = await waitForProfile(storage, String(main?.token))
    t.equal(messagesOf(profile)[0], 'failure 1')
    t.equal(profile.summary.subRequests, type === TerminateEvent ? 0 : 1)
    for (const child of profile.children) t.ok(storage.has(child))
  }
})

t.test('an error in the error controller is recorded beside the original error', async t => {
  const { app, client, storage } = await createProfiledKernel(t)
  const fail = () => {
    throw new Error('the error page is broken')
  }
  app.controllers.decorate('error_controller', () => defineController('broken', fail))
  const response = await client.get('/boom')
  t.equal(response.status, 500)
  await turns()
  const { summaries } = await storage.search({ limit: 10 })
  const [main] = summaries.filter(({ parent }) => parent === null)
  t.hasStrict(main, { outcome: 'complete', status: 500, subRequests: 1, route: 'boom' })
  const profile = await waitForProfile(storage, String(main?.token))
  t.strictSame(messagesOf(profile), ['Boom "quoted" <b>é</b> & 100%', 'the error page is broken'])
  t.hasStrict((await waitForProfile(storage, String(profile.children[0]))).summary, { controller: 'broken', status: 0 })
})

t.test('sub-requests of an unrecorded request are not recorded', async t => {
  const { client, storage } = await createProfiledKernel(t, { ignoredPaths: ['/embed'] })
  t.equal((await client.get('/embed')).headers.get('x-debug-token'), null)
  t.equal((await storage.search({ limit: 10 })).total, 0)
  await client.get('/events')
  await turns()
  t.equal((await storage.search({ limit: 10 })).total, 1)
})

t.test('a thrown value that is no error is one, where only errors are stored', async t => {
  const { client, storage } = await createProfiledKernel(t, {
    variables: { PROFILER_ONLY_ERRORS: '1' },
    handlers: {
      '/nothing-thrown': () => {
        throw undefined
      },
    },
  })
  t.equal((await client.get('/text')).headers.get('x-debug-token'), null)
  t.equal((await storage.search({ limit: 10 })).total, 0)
  const token = (await client.get('/nothing-thrown')).headers.get('x-debug-token')
  t.hasStrict((await waitForProfile(storage, token)).summary, { exception: 'Thrown value', status: 500 })
  t.equal((await storage.search({ limit: 10 })).total, 2)
})

t.test('a crash is recorded before the process ends, with the failed request', async t => {
  const gate = createGate()
  const arrived = createGate()
  const handlers = {
    '/waits': async () => {
      arrived.open()
      await gate.opened
      return Response.text('in the end')
    },
  }
  let run = (_task: () => void) => {}
  const { client, profileOf, storage } = await createProfiledKernel(t, {
    handlers,
    register({ context, kernel, routes }) {
      const late = defineController('late', async () => {
        await gate.opened
        return Response.text('late')
      })
      const controller = async (request: Request) => {
        void kernel.forward(request, late)
        await kernel.forward(request, (inner: Request) => {
          run = task => context.run(inner, task)
          return new Response()
        })
        return Response.text('at once')
      }
      routes.add({ name: 'detached', path: '/detached', controller })
    },
  })
  const main = await profileOf(await client.get('/detached'))
  const [late, culprit] = main.children
  const waiting = client.get('/waits')
  await arrived.opened
  run(() => crash(new Error('late failure')))

  const find = async (token?: string) => (await storage.find(String(token)))?.profile
  for (const token of [culprit, main.summary.token]) {
    const profile = await find(token)
    t.hasStrict(profile?.summary, { outcome: 'crashed', status: 200, exception: 'Error' })
    t.hasStrict(profile?.data.exception, { exceptions: [{ message: 'late failure' }] })
  }
  t.hasStrict((await find(late))?.summary, { outcome: 'crashed', exception: null })
  const { summaries } = await storage.search({ limit: 1 })
  t.hasStrict(summaries, [{ url: 'http://localhost/waits', outcome: 'crashed', exception: null, status: 0 }])

  gate.open()
  const response = await waiting
  await turns()
  const { summary } = await profileOf(response)
  t.hasStrict(summary, { outcome: 'complete', status: 200 }, 'if the process continues, the request is complete')
  t.hasStrict((await waitForProfile(storage, String(late))).summary, { outcome: 'complete', status: 200 })
})

t.test('a crash outside of requests is recorded for all requests in flight, and not by a closed profiler', async t => {
  const { client, close, storage } = await createProfiledKernel(t, {
    handlers: {
      '/crashes': () => {
        crash(new Error('elsewhere'))
        return new Response()
      },
    },
    ignoredPaths: ['/text'],
  })
  await client.get('/crashes')
  crash(new Error('elsewhere'))
  t.equal((await storage.search({ limit: 9 })).total, 1)
  const count = process.listenerCount('uncaughtExceptionMonitor')
  await close()
  t.equal(process.listenerCount('uncaughtExceptionMonitor'), count - 1)
})

/** The names of what could not be recorded. */
function collectFailures(t: Test): string[] {
  const names: string[] = []
  t.teardown(reportFailures((_error, name) => void names.push(name)))
  return names
}

/** A profiler without an application, with the collector of the test. */
function createBareProfiler(
  collect: (trace: Trace) => CollectedData,
  storage = new MemoryProfileStorage(),
  policy = new RecordingPolicy({}, openGate),
) {
  const { logger, records } = createRecorder()
  const profiler = new Profiler({
    isForProfiler: () => false,
    storage,
    policy,
    collect,
    collectLate: () => undefined,
    settle: () => undefined,
    onBegin: () => undefined,
    facts: () => '{}',
    origin: { machine: null, program: 'shop' },
    serialize: (_, run) => run(),
    redactor: new Redactor(),
    logger,
    signals: createSignals(() => {}),
  })
  return { profiler, storage, records }
}

t.test('late data of an unfinished request does not replace the data of the finished request', async t => {
  const gate = createGate()
  const { profiler, storage } = createBareProfiler(trace => {
    const isOver = trace.duration !== undefined
    const summary = summarize(trace, new Redactor())
    return { summary, data: { isOver }, failures: {}, pending: isOver ? undefined : gate.opened }
  })
  const request = createRequest('/main')
  const sub = request.duplicate()
  const main = profiler.begin(request)
  const trace = profiler.begin(sub)
  if (main === undefined || trace === undefined) throw new Error('Both are recorded.')
  profiler.finish(main)
  profiler.terminate(main, createTerminateEvent())
  profiler.finish(trace)
  gate.open()
  await profiler.whenIdle()
  const { profile } = (await storage.find(trace.token)) ?? {}
  t.hasStrict(profile, { summary: { outcome: 'complete' }, data: { isOver: true } })
})

t.test('profiles are stored in var/profiler, and problems there are logged', async t => {
  const directory = t.testdir()
  writeFileSync(path.join(directory, 'var'), 'This is no directory.')
  const bundles = [createFrameworkBundle(), probeBundle, createProfilerBundle()]
  const { client, close, records } = await createTestKernel({ bundles, directory })
  t.match((await client.get('/text')).headers.get('x-debug-token'), /^[0-9a-f]{6}$/)
  await close()
  const problem = records.find(({ message }) => message === 'Profiles are dropped because they cannot be written.')
  t.equal(problem?.level, 'warning')
  t.match(Object(problem?.context.exception).message, path.join(directory, 'var/profiler'))
})

t.test('a profile that cannot be made is said once, and affects nothing else', async t => {
  const failures = collectFailures(t)
  const { profiler, storage } = createBareProfiler(trace => ({
    summary: summarize(trace, new Redactor()),
    data: { big: 1n },
    failures: {},
    pending: undefined,
  }))
  const trace = profiler.begin(createRequest('/'))
  if (trace === undefined) throw new Error('It is recorded.')
  profiler.crash(new Error('x'), trace.request, false)
  profiler.terminate(trace, createTerminateEvent())
  await profiler.whenIdle()
  t.strictSame(failures, ['a profile'])
  t.notOk(storage.has(trace.token))
  t.strictSame([...profiler.unstored], [])
})

t.test('an update that cannot be made is said, and the profile stays as it was', async t => {
  const failures = collectFailures(t)
  let data: Record<string, unknown> = {}
  const { profiler, storage } = createBareProfiler(trace => ({
    summary: summarize(trace, new Redactor()),
    data,
    failures: {},
    pending: undefined,
  }))
  const trace = profiler.begin(createRequest('/'))
  if (trace === undefined) throw new Error('It is recorded.')
  profiler.finish(trace)
  profiler.terminate(trace, createTerminateEvent())
  await profiler.whenIdle()
  data = { big: 1n }
  trace.collected = undefined
  trace.touch()
  await until(() => failures.length > 0)
  t.strictSame(failures, ['a changed profile'])
  t.strictSame((await storage.find(trace.token))?.profile.data, {})
})

t.test('where only errors are recorded, a crash is recorded only for its own request', t => {
  const { profiler, storage } = createBareProfiler(
    trace => ({ summary: summarize(trace, new Redactor()), data: {}, failures: {}, pending: undefined }),
    undefined,
    new RecordingPolicy({}, openGate, { onlyErrors: true }),
  )
  const culprit = profiler.begin(createRequest('/culprit'))
  const other = profiler.begin(createRequest('/other'))
  if (culprit === undefined || other === undefined) throw new Error('Both are recorded.')
  profiler.crash(new Error('x'), culprit.request, false)
  t.ok(storage.has(culprit.token))
  t.notOk(storage.has(other.token))
  t.end()
})

t.test('without a free token a request is not profiled', async t => {
  class Full extends MemoryProfileStorage {
    override has(): boolean {
      return true
    }
  }
  const { profiler, records } = createBareProfiler(() => t.fail('must not be asked') as never, new Full())
  t.equal(profiler.begin(createRequest('/')), undefined)
  t.hasStrict(records, [{ level: 'warning' }])
})

t.test('a collector of a bundle cannot take the name of one of the profiler, or of a panel', async t => {
  const { panel, app } = await createProfiledKernel(t)
  for (const name of ['events', 'findings', 'time']) {
    t.equal(panel(name).name, name)
    t.ok(app.reservedCollectors.includes(name))
    const register: Bundle['register'] = ({ collectors }) => void collectors.push({ name, collect: () => 1 })
    const message = `The bundle "own" has a collector "${name}", but the profiler itself has one of that name: give it another name.`
    await t.rejects(createProfiledKernel(t, { register }), { code: 'KERNEL_COLLECTOR_TAKEN', message })
  }
  t.ok(subjectViews.every(({ name }) => app.reservedCollectors.includes(name)))
})
