import { t } from 'tap'
import { RequestEvent } from '#kernel/events.ts'
import { createBareKernel } from '#kernel/testing/create-test-kernel.ts'
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
