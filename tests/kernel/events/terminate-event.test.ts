import { existsSync } from 'node:fs'
import { ExceptionEvent, RequestEvent, TerminateEvent } from 'sinfonietta'
import { createBareKernel, createRequest, silentLogger } from 'sinfonietta/testing'
import { t } from 'tap'
import { ControllerResolver } from '#kernel/controller.ts'
import { HttpKernel } from '#kernel/http-kernel.ts'
import { RequestContext } from '#kernel/request-context.ts'
import type { UploadedFile } from '#lib/body/form-data.ts'
import { createEventDispatcher, OwnedEventDispatcher } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

t.test('listeners receive request and response, by priority, and are awaited', async t => {
  const { dispatcher, kernel, request } = createBareKernel()
  const response = new Response('sent')
  const heard: unknown[] = []
  dispatcher.on(TerminateEvent, event => void heard.push(event.response, event.isMainRequest), -1)
  dispatcher.on(TerminateEvent, async event => {
    await new Promise(setImmediate)
    heard.push(event.request)
  })
  await kernel.terminate(request, response)
  t.strictSame(heard, [request, response, true])
})

t.test('stopPropagation keeps the rest from running', async t => {
  const { dispatcher, kernel, request } = createBareKernel()
  dispatcher.on(TerminateEvent, event => event.stopPropagation(), 1, 'stopper')
  dispatcher.on(TerminateEvent, () => t.fail('must not run'), 0, 'never called')
  await kernel.terminate(request, new Response())
  t.hasStrict(dispatcher.last(TerminateEvent), { stoppedBy: 'stopper', skipped: ['never called'] })
})

t.test('a listener that fails is logged by its name, and later ones are called', async t => {
  const { logger, records } = createRecorder()
  const { dispatcher, kernel, request } = createBareKernel(undefined, { logger })
  const called: string[] = []
  const fail = (message: string) => {
    throw new Error(message)
  }
  dispatcher.on(TerminateEvent, () => fail('too late'), 2, 'first')
  dispatcher.on(TerminateEvent, async () => fail('much too late'), 1, 'second')
  dispatcher.on(TerminateEvent, () => called.push('third'))
  await kernel.terminate(request, new Response())
  t.hasStrict(records, [
    {
      level: 'critical',
      message: 'The listener first of kernel.terminate failed.',
      context: { listener: 'first', exception: { message: 'too late' } },
    },
    {
      level: 'critical',
      message: 'The listener second of kernel.terminate failed.',
      context: { listener: 'second', exception: { message: 'much too late' } },
    },
  ])
  t.strictSame(called, ['third'])
})

t.test('a listener without a name is logged with its bundle and its place', async t => {
  const { logger, records } = createRecorder()
  const { dispatcher, kernel, request } = createBareKernel(undefined, { logger })
  const ofShop = new OwnedEventDispatcher(dispatcher, 'shop')
  for (const each of [dispatcher, ofShop]) {
    each.on(TerminateEvent, () => {
      throw new Error('too late')
    })
  }
  await kernel.terminate(request, new Response())
  t.match(
    records.map(({ message }) => message),
    [
      /^The listener anonymous \(terminate-event\.test\.[jt]s:\d+\) of kernel\.terminate failed\.$/,
      /^The listener anonymous \(bundle "shop", terminate-event\.test\.[jt]s:\d+\) of kernel\.terminate failed\.$/,
    ],
  )
})

t.test('after an error was answered, what fails has no cause that is none', async t => {
  const { logger, records } = createRecorder()
  const { dispatcher, kernel } = createBareKernel(undefined, { logger })
  dispatcher.on(RequestEvent, () => {
    throw new Error('answered')
  })
  dispatcher.on(ExceptionEvent, event => event.respond(new Response()))
  dispatcher.on(
    TerminateEvent,
    () => {
      throw new Error('too late')
    },
    0,
    'late',
  )
  const request = createRequest()
  await kernel.terminate(request, await kernel.handle(request))
  t.hasStrict(records, [
    { message: 'The listener late of kernel.terminate failed.', context: { exception: { message: 'too late' } } },
  ])
  t.notMatch(JSON.stringify(records), 'answered')
})

t.test('uploaded files are removed after the listeners, also if none listens', async t => {
  for (const listens of [true, false]) {
    const { dispatcher, kernel } = createBareKernel()
    const request = createRequest('/', { method: 'POST', upload: { photo: { name: 'a.png', content: 'pixels' } } })
    const file = (await request.formData()).get('photo') as UploadedFile
    if (listens) dispatcher.on(TerminateEvent, async () => t.ok(existsSync(file.path)))
    await kernel.terminate(request, new Response())
    t.notOk(existsSync(file.path))
  }
})

t.test('a plain dispatcher needs only events with a listener', async t => {
  const plain = createEventDispatcher()
  const owned = new OwnedEventDispatcher(plain, 'shop')
  const context = new RequestContext()
  const kernel = new HttpKernel({
    dispatcher: plain,
    controllers: new ControllerResolver(),
    context,
    logger: silentLogger,
  })
  t.equal(owned.needs(TerminateEvent), false)
  t.equal(kernel.terminate(createRequest('/'), new Response()), undefined)
  const calls: unknown[] = []
  owned.on(TerminateEvent, ({ isSent }) => calls.push(isSent))
  t.equal(owned.needs(TerminateEvent), true)
  kernel.terminate(createRequest('/'), new Response(), { isSent: false })
  t.strictSame(calls, [false])
})
