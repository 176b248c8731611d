import { createFrameworkBundle, ExceptionEvent, RequestEvent, ResponseEvent } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import {
  createBareKernel,
  createRequest,
  createTestKernel,
  RecordingDispatcher,
  type TestKernel,
} from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { defineController } from '#kernel/controller.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { errorChain } from '#lib/errors/flat-error.ts'
import { Response } from '#lib/http/response.ts'
import type { LogError } from '#lib/log/create-logger.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'

const page = [
  'kernel.request',
  'kernel.controller',
  'kernel.controller_arguments',
  'kernel.response',
  'kernel.finish_request',
]
const sub = page.map(name => `${name} (sub)`)

async function boot(t: Test): Promise<TestKernel & { sequence: readonly string[] }> {
  const dispatcher = new RecordingDispatcher()
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), siteBundle, probeBundle], dispatcher })
  t.teardown(() => kernel.close())
  return { ...kernel, sequence: dispatcher.sequence }
}

t.test('a page', async t => {
  const { client, sequence } = await boot(t)
  t.equal((await client.get('/partnership')).status, 200)
  t.strictSame(sequence, [...page, 'kernel.terminate'])
})

t.test('404: routing fails, and the error page is a sub-request inside kernel.exception', async t => {
  const { client, sequence } = await boot(t)
  t.equal((await client.get('/nope')).status, 404)
  t.strictSame(sequence, [
    'kernel.request',
    'kernel.exception',
    ...sub,
    'kernel.response',
    'kernel.finish_request',
    'kernel.terminate',
  ])
})

t.test('405', async t => {
  const { client, sequence } = await boot(t)
  const response = await client.post('/partnership')
  t.equal(response.status, 405)
  t.equal(response.headers.get('allow'), 'GET')
  t.strictSame(sequence.slice(0, 3), ['kernel.request', 'kernel.exception', 'kernel.request (sub)'])
})

t.test('an error of a controller', async t => {
  const { client, sequence } = await boot(t)
  t.equal((await client.get('/boom')).status, 500)
  t.strictSame(sequence, [
    ...page.slice(0, 3),
    'kernel.exception',
    ...sub,
    'kernel.response',
    'kernel.finish_request',
    'kernel.terminate',
  ])
})

t.test('an error inside the error controller ends in the last resort', async t => {
  const { app, client, sequence, records } = await boot(t)
  app.controllers.decorate('error_controller', () => ({
    name: 'broken',
    arguments: [],
    call() {
      throw new Error('worse')
    },
  }))
  const response = await client.get('/boom')
  t.equal(response.status, 500)
  t.match(response.text, /<h1>Internal Server Error<\/h1>.*Boom.*The error page failed, too.*Error: worse/s)
  t.match(response.text, /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-/)
  t.equal(response.headers.get('x-frame-options'), 'DENY')
  t.strictSame(sequence, [
    ...page.slice(0, 3),
    'kernel.exception',
    ...sub.slice(0, 3),
    'kernel.finish_request (sub)',
    'kernel.finish_request',
    'kernel.terminate',
  ])
  t.match(records.at(-2)?.context, { listener: 'ErrorListener.onException', exception: { message: 'worse' } })
  t.match(records.at(-1), {
    level: 'critical',
    message: 'An error could not be answered.',
    context: { exception: { message: 'worse' } },
  })
})

t.test('what fails while an error is answered has that error as its last cause', async t => {
  const { app, client, records } = await boot(t)
  const failing = new Error('worse', { cause: new TypeError('why') })
  const remove = app.dispatcher.on(ExceptionEvent, () => {
    throw failing
  })
  for (const path of ['/boom-multiline', '/gone', '/boom-text']) {
    await client.get(path)
    const { context } = records.at(-1) ?? {}
    const [, ...causes] = errorChain((context as { exception: LogError }).exception)
    const original = { '/boom-multiline': ['line one\nline two'], '/gone': ['nothing here', 'the previous one'] }[path]
    t.strictSame(
      causes.map(({ message }) => message),
      ['why', ...(original ?? ['just text'])],
      'and no error of another request',
    )
  }
  remove()

  app.dispatcher.on(ResponseEvent, ({ isMainRequest }) => {
    if (isMainRequest) throw new Error('late')
  })
  t.equal((await client.get('/gone')).status, 404)
  t.match(records.at(-1)?.context, { exception: { message: 'late', cause: { message: 'nothing here' } } })
})

t.test('the maker of a sub-request that cannot be answered learns the first error too', async t => {
  const first = new Error('first')
  const { dispatcher, kernel, request } = createBareKernel()
  const fail = () => {
    throw first
  }
  dispatcher.on(ExceptionEvent, () => {
    throw new Error('second')
  })
  await t.rejects(kernel.forward(request, fail), { message: 'second', cause: first })
})

t.test('a forward is a sub-request whose response is the answer', async t => {
  const { client, sequence } = await boot(t)
  t.equal((await client.get('/forward')).text, 'sub 9 z')
  t.strictSame(sequence, [...page.slice(0, 3), ...sub, ...page.slice(3), 'kernel.terminate'])
})

t.test('an error of a sub-request reaches its caller, if requested', async t => {
  const { client, sequence } = await boot(t)
  t.equal((await client.get('/inner-failure')).status, 500)
  t.equal(sequence.filter(name => name.startsWith('kernel.exception')).length, 1)
})

t.test('sub-requests can be nested ten deep, and no deeper', async t => {
  const deepest = (depth: number) => {
    let count = 0
    const descend: RequestHandler = request =>
      count < depth ? kernel.forward(request, descend, { count: ++count }) : new Response(`at ${count}`)
    const { kernel, request } = createBareKernel(descend)
    return kernel.handle(request, { catchErrors: false })
  }
  t.equal((await deepest(10)).body, 'at 10')
  await t.rejects(deepest(11), {
    code: 'KERNEL_TOO_DEEP',
    message: 'Sub-requests are nested more than 10 deep: probably one of them requests itself.',
  })
})

t.test('200 overlapping requests do not see anything of one another', async t => {
  const { client } = await boot(t)
  const ids = Array.from({ length: 200 }, (_, id) => id)
  const responses = await Promise.all(
    ids.map(id => (id % 5 === 0 ? client.get(`/nope/${id}`) : client.get(`/slow/${id}?id=${id}`))),
  )
  for (const [id, response] of responses.entries()) {
    if (id % 5 === 0) {
      t.equal(response.status, 404)
      t.equal(
        decodeURIComponent(response.headers.get('x-debug-exception') ?? ''),
        `No route found for "GET http://localhost/nope/${id}"`,
      )
    } else {
      t.equal(response.text, `slow ${id} ${id} ${id}`)
      t.equal(response.request.attributes.get('_route'), 'slow')
    }
  }
})

t.test('arguments that are waited for are waited for', async t => {
  const { kernel, request } = createBareKernel()
  const controller = defineController('waits', { value: async () => 'later' }, ({ value }) => new Response(value))
  request.attributes.set('_controller', controller)
  t.equal((await kernel.handle(request)).body, 'later')
})

t.test('the current request is available after awaits, once enabled', async t => {
  const context = new RequestContext()
  const request = createRequest()
  t.equal(
    context.run(request, () => context.current),
    undefined,
  )
  context.enable()
  context.enable()
  t.equal(context.current, undefined)
  t.equal(
    await context.run(request, async () => {
      await new Promise(setImmediate)
      return context.current
    }),
    request,
  )
})

t.test('a request without a controller is answered without any listener', async t => {
  t.equal((await createBareKernel().kernel.handle(createRequest())).status, 500)
})

t.test('a RecordingDispatcher records the events of an application with the profiler', async t => {
  const dispatcher = new RecordingDispatcher()
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), profiler], dispatcher })
  t.teardown(close)
  await client.get('/nowhere')
  t.strictSame(dispatcher.sequence.slice(0, 3), ['kernel.request', 'kernel.exception', 'kernel.request (sub)'])
  t.hasStrict(dispatcher.of(RequestEvent)[0], {
    failedBy: 'RouterListener.onRequest',
    skipped: ['CrossOriginListener.onRequest', 'GuardListener.onRequest', 'BodyListener.onRequest'],
  })
  t.equal(dispatcher.last(ExceptionEvent).stoppedBy, 'ErrorListener.onException')
})
