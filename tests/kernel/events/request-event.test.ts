import { ExceptionEvent, HttpError, RequestEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

t.test('listeners are called by priority before anything else, and may await', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel()
  const heard: string[] = []
  dispatcher.on(RequestEvent, () => void heard.push('last'), -8)
  dispatcher.on(RequestEvent, async () => {
    await new Promise(setImmediate)
    heard.push(`first of ${sequence.join()}`)
  })
  await kernel.handle(request)
  t.strictSame(heard, ['first of kernel.request', 'last'])
})

t.test('what a listener attaches reaches the controller', async t => {
  const { kernel, dispatcher, request } = createBareKernel(
    request => new Response(String(request.attributes.get('user'))),
  )
  dispatcher.on(RequestEvent, event => event.request.attributes.set('user', 'ada'))
  t.equal((await kernel.handle(request)).body, 'ada')
})

t.test('a listener may choose the controller', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  dispatcher.on(RequestEvent, event => event.request.attributes.set('_controller', () => new Response('chosen')))
  t.equal((await kernel.handle(request)).body, 'chosen')
})

t.test('respond() answers: no further listener, no controller, straight to kernel.response', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(() => t.fail('must not run'))
  dispatcher.on(RequestEvent, event => event.respond(new Response('early')), 1)
  dispatcher.on(RequestEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, 'early')
  t.strictSame(sequence, ['kernel.request', 'kernel.response', 'kernel.finish_request'])
})

t.test('stopPropagation without a response only keeps the other listeners from running', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  dispatcher.on(RequestEvent, event => event.stopPropagation(), 1)
  dispatcher.on(RequestEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, 'done')
})

t.test('a listener that throws leads to kernel.exception, and no controller runs', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(() => t.fail('must not run'))
  dispatcher.on(RequestEvent, () => {
    throw new Error('refused')
  })
  t.equal((await kernel.handle(request)).status, 500)
  t.strictSame(sequence, ['kernel.request', 'kernel.exception', 'kernel.finish_request'])
})

t.test('fail() leads to kernel.exception as a throw does: no further listener, no controller', async t => {
  for (const isLater of [false, true]) {
    const { kernel, dispatcher, request, sequence } = createBareKernel(() => t.fail('must not run'))
    const error = new HttpError(404, 'nothing here')
    const errors: unknown[] = []
    dispatcher.on(ExceptionEvent, event => {
      errors.push(event.error)
      event.respond(new Response('missing', { status: 404 }))
    })
    dispatcher.on(RequestEvent, event => {
      event.fail(error)
      return isLater ? new Promise(setImmediate) : undefined
    })
    dispatcher.on(RequestEvent, () => t.fail('must not run'), -1)
    const response = await kernel.handle(request)
    t.strictSame([response.status, response.body, errors[0]], [404, 'missing', error])
    t.strictSame(sequence, ['kernel.request', 'kernel.exception', 'kernel.response', 'kernel.finish_request'])
  }
})

t.test('fail() rejects where errors are not caught, in a sub-request as well', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  const error = new HttpError(404, 'nothing here')
  dispatcher.on(RequestEvent, event => event.fail(error))
  t.equal(await t.rejects(kernel.handle(request, { catchErrors: false })), error)
  t.equal(await t.rejects(kernel.handle(request.duplicate(), { catchErrors: false })), error)
})

t.test('a listener that fails a request while its error is answered is passed over, as if it had thrown', async t => {
  for (const isThrown of [false, true]) {
    const { kernel, dispatcher, request } = createBareKernel(() => {
      throw new Error('broken')
    })
    const heard: string[] = []
    dispatcher.on(ExceptionEvent, async event => {
      const page = event.request.duplicate()
      page.attributes.set('_controller', () => new Response('error page', { status: 500 }))
      event.respond(await event.kernel.handle(page))
    })
    dispatcher.on(RequestEvent, event => {
      if (event.isMainRequest) return
      heard.push('fails')
      if (isThrown) throw new Error('refused')
      event.fail(new Error('refused'))
    })
    dispatcher.on(RequestEvent, event => void (event.isMainRequest || heard.push('later')), -1)
    t.equal((await kernel.handle(request)).body, 'error page')
    t.strictSame(heard, ['fails', 'later'])
  }
})
