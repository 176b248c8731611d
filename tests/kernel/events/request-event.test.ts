import { Readable } from 'node:stream'
import { ExceptionEvent, HttpError, RequestEvent } from 'sinfonietta'
import { createBareKernel, createRequest, createRequestEvent } from 'sinfonietta/testing'
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

t.test('a sub-request that has its controller is answered by it: by no listener, whatever it tries', async t => {
  const tries: Readonly<Record<string, (event: RequestEvent) => unknown>> = {
    'a response': event => event.respond(new Response('by path')),
    'a late response': async event => {
      await new Promise(setImmediate)
      event.respond(new Response('by path'))
    },
    'a response that stops the event': event => {
      event.respond(new Response('by path'))
      event.stopPropagation()
    },
    'a response that it returns as well': event => {
      const response = new Response('by path')
      event.respond(response)
      return response
    },
    'a stream': event => event.respond(new Response(Readable.from(['by path']))),
    'another controller': ({ request }) =>
      void request.attributes.set('_controller', () => new Response('another controller')),
    'no controller': ({ request }) => void request.attributes.delete('_controller'),
  }
  const offenders: string[] = []
  for (const [name, answer] of Object.entries(tries)) {
    for (const way of ['error page', 'forward', 'handle'] as const) {
      const { kernel, dispatcher, request } = createBareKernel(async request => {
        if (way === 'error page') throw new HttpError(401, 'Log in first.')
        if (way === 'forward') return kernel.forward(request, () => new Response('by controller'))
        const sub = request.duplicate({ target: '/elsewhere' })
        sub.attributes.set('_controller', () => new Response('by controller'))
        return kernel.handle(sub)
      })
      const later: string[] = []
      dispatcher.on(RequestEvent, event => (event.isMainRequest ? undefined : answer(event)), 1)
      dispatcher.on(RequestEvent, ({ isMainRequest }) => void (isMainRequest || later.push('called')))
      dispatcher.on(ExceptionEvent, async event => {
        event.respond(await kernel.forward(event.request, () => new Response('by controller')))
      })
      const { body, status } = await kernel.handle(request)
      const isCalled = later.length === 1 || name === 'a response that stops the event'
      if (body === 'by controller' && status === (way === 'error page' ? 401 : 200) && isCalled) continue
      offenders.push(`${name}, ${way}: ${status} ${body}, listeners later: ${later.length}`)
    }
  }
  t.strictSame(offenders, [])
})

t.test('the stream of a response that is not sent is destroyed', async t => {
  const { kernel, dispatcher, request } = createBareKernel(request =>
    kernel.forward(request, () => new Response('done')),
  )
  const body = Readable.from(['by path'])
  dispatcher.on(RequestEvent, event => void (event.isMainRequest || event.respond(new Response(body))))
  t.equal((await kernel.handle(request)).body, 'done')
  t.equal(body.destroyed, true)
})

t.test('a listener refuses a sub-request that has its controller by an error', async t => {
  for (const refuse of [
    (event: RequestEvent) => event.fail(new HttpError(403, 'No.')),
    () => {
      throw new HttpError(403, 'No.')
    },
  ]) {
    const { kernel, dispatcher, request } = createBareKernel(request => kernel.forward(request, () => t.fail('runs')))
    dispatcher.on(RequestEvent, event => void (event.isMainRequest || refuse(event)))
    t.match(await t.rejects(kernel.handle(request, { catchErrors: false })), { status: 403 })
  }
})

t.test('a sub-request without a controller is answered by path', async t => {
  const { kernel, dispatcher, request } = createBareKernel(request =>
    kernel.handle(request.duplicate({ target: '/page' })),
  )
  dispatcher.on(RequestEvent, event => void (event.request.path === '/page' && event.respond(new Response('by path'))))
  t.equal((await kernel.handle(request)).body, 'by path')
  const chosen = createBareKernel(request => chosen.kernel.handle(request.duplicate({ target: '/page' })))
  chosen.dispatcher.on(RequestEvent, ({ request }) => {
    if (request.path === '/page') request.attributes.set('_controller', () => new Response('chosen by path'))
  })
  t.equal((await chosen.kernel.handle(chosen.request)).body, 'chosen by path')
})

t.test('a response that is none is refused in a sub-request as well', t => {
  const sub = createRequest().duplicate()
  sub.attributes.set('_controller', () => new Response())
  // What a caller without the compiler may pass.
  const wrong = 'text' as unknown as Response
  t.throws(() => createRequestEvent({ request: sub }).respond(wrong), { code: 'KERNEL_RESPONSE_INVALID' })
  t.end()
})
