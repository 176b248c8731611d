import assert from 'node:assert'
import { ExceptionEvent, RequestEvent, ViewEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

t.test('a controller that returns a response needs no view', async t => {
  const { kernel, request, sequence } = createBareKernel()
  await kernel.handle(request)
  t.notOk(sequence.includes('kernel.view'))
})

t.test('listeners make a response of what the controller returned; the first to respond ends it', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(async () => ({ answer: 42 }))
  dispatcher.on(ViewEvent, async event => event.respond(Response.json(event.result)), 1)
  dispatcher.on(ViewEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, '{"answer":42}')
  t.strictSame(sequence.slice(2), [
    'kernel.controller_arguments',
    'kernel.view',
    'kernel.response',
    'kernel.finish_request',
  ])
})

t.test('stopPropagation without a response is an error', async t => {
  const { kernel, dispatcher, request } = createBareKernel(() => 'text')
  dispatcher.on(ViewEvent, event => event.stopPropagation(), 1)
  dispatcher.on(ViewEvent, event => event.respond(new Response()))
  t.equal((await kernel.handle(request)).status, 500)
})

t.test('a result without a response is an error that describes it, without its values', async t => {
  const messages: [unknown, string][] = [
    [undefined, 'nothing: did you forget a "return" somewhere in your controller?'],
    [new globalThis.Response('text'), 'the "Response" of the platform: import "Response" from "sinfonietta".'],
    [null, 'null'],
    ['text', 'a string of 4 characters'],
    [['a'], 'an array of 1 item'],
    [{ a: { b: 1 } }, 'an object with the key "a"'],
    [{ user: 'ada', password: 'x' }, 'an object with the keys "user", "password"'],
    [
      Object.fromEntries(Array.from('abcdefghijkl', key => [key, 1])),
      'an object with the keys "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", and 2 more',
    ],
    [Object.create(null), 'an object without keys'],
    [new Map([['password', 'x']]), 'an object of the class Map'],
    [new Proxy({}, { ownKeys: () => assert.fail('refused') }), 'an object'],
    [5, 'a number'],
    [true, 'a boolean'],
  ]
  for (const [result, description] of messages) {
    const { kernel, dispatcher, request } = createBareKernel(() => result)
    let error: unknown
    dispatcher.on(ExceptionEvent, event => {
      error = event.error
    })
    await kernel.handle(request)
    const way = typeof result === 'string' ? 'Response.text() or Response.html()' : 'Response.json()'
    const advice = `. Use ${way}, or a listener of kernel.view that makes a response of it.`
    const isAdvised = result !== undefined && !(result instanceof globalThis.Response)
    t.match(error, { code: 'KERNEL_NO_RESPONSE' })
    t.equal(
      (error as Error).message,
      `The controller must return a "Response" object but it returned ${description}${isAdvised ? advice : ''}`,
    )
  }
})

t.test('a listener that throws leads to kernel.exception', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(() => 'text')
  dispatcher.on(ViewEvent, () => {
    throw new Error('no view')
  })
  t.equal((await kernel.handle(request)).status, 500)
  t.strictSame(sequence.slice(-3), ['kernel.view', 'kernel.exception', 'kernel.finish_request'])
})

t.test('a listener that responds with the Response of the platform, or with none, fails where it does so', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  const { respond } = RequestEvent.prototype
  dispatcher.on(RequestEvent, event => Reflect.apply(respond, event, [new globalThis.Response('text')]), 0, 'own')
  await kernel.handle(request)
  t.match(dispatcher.last(RequestEvent), {
    failedBy: 'own',
    error: {
      code: 'KERNEL_RESPONSE_INVALID',
      message: /it gave the "Response" of the platform: import "Response" from "sinfonietta"\.$/,
    },
  })
})
