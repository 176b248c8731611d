import { ExceptionEvent, ResponseEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

t.test('listeners change headers and status by priority, and may await', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  dispatcher.on(ResponseEvent, ({ response }) => response.headers.append('x-order', 'second'), -1)
  dispatcher.on(ResponseEvent, async ({ response }) => {
    await new Promise(setImmediate)
    response.headers.append('x-order', 'first')
    response.status = 202
  })
  const response = await kernel.handle(request)
  t.equal(response.headers.get('x-order'), 'first, second')
  t.equal(response.status, 202)
})

t.test('a listener may replace the response; later ones see the new one', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  dispatcher.on(ResponseEvent, event => {
    event.response = new Response('replaced')
  })
  dispatcher.on(ResponseEvent, event => t.equal(event.response.body, 'replaced'), -1)
  t.equal((await kernel.handle(request)).body, 'replaced')
})

t.test('a completion holds for each response that is set later, once, in the order of the listeners', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  const add = (value: string) => (event: ResponseEvent) =>
    event.complete(({ headers }, { method }) => headers.append('x-order', `${method} ${value}`))
  dispatcher.on(ResponseEvent, add('one'), 2)
  dispatcher.on(ResponseEvent, add('two'), 1)
  dispatcher.on(ResponseEvent, async event => {
    await new Promise(setImmediate)
    const replaced = new Response('replaced')
    for (let times = 0; times < 2; times++) event.response = replaced
    t.equal(event.response.headers.get('x-order'), 'GET one, GET two', 'the listener sees the complete response')
    event.response.headers.set('x-order', 'own')
  })
  dispatcher.on(ResponseEvent, add('three'), -1)
  t.equal((await kernel.handle(request)).headers.get('x-order'), 'own, GET three')
})

t.test('stopPropagation keeps the rest from running; the response is sent all the same', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel()
  dispatcher.on(ResponseEvent, event => event.stopPropagation(), 1)
  dispatcher.on(ResponseEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, 'done')
  t.equal(sequence.at(-1), 'kernel.finish_request')
})

t.test('a listener that throws leads to kernel.exception; when it fails again on the error, it is skipped', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel()
  dispatcher.on(ResponseEvent, () => {
    throw new Error('no headers today')
  })
  dispatcher.on(ExceptionEvent, event => event.respond(new Response('sorry')))
  const response = await kernel.handle(request)
  t.equal(response.status, 500)
  t.equal(response.body, 'sorry')
  t.strictSame(sequence.slice(-4), ['kernel.response', 'kernel.exception', 'kernel.response', 'kernel.finish_request'])
})
