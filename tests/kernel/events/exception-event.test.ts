import { ExceptionEvent, HttpError } from 'sinfonietta'
import { type BareKernel, createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

const failure = new Error('lost')

function createFailing(error: unknown = failure): BareKernel {
  return createBareKernel(() => {
    throw error
  })
}

t.test('listeners see the error by priority; the first to respond ends it', async t => {
  const { kernel, dispatcher, request, sequence } = createFailing()
  const heard: unknown[] = []
  dispatcher.on(ExceptionEvent, event => void heard.push(event.error), 2)
  dispatcher.on(ExceptionEvent, async event => event.respond(new Response('sorry')), 1)
  dispatcher.on(ExceptionEvent, () => t.fail('must not run'))
  const response = await kernel.handle(request)
  t.equal(response.body, 'sorry')
  t.equal(response.status, 500, 'the status of a response that is no error becomes that of the error')
  t.strictSame(heard, [failure])
  t.strictSame(sequence.slice(-3), ['kernel.exception', 'kernel.response', 'kernel.finish_request'])
})

t.test('the response gets status and headers of an HttpError', async t => {
  const { kernel, dispatcher, request } = createFailing(
    new HttpError(429, 'slower', { headers: { 'retry-after': '9' } }),
  )
  dispatcher.on(ExceptionEvent, event => event.respond(new Response('sorry')))
  const response = await kernel.handle(request)
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), '9')
})

t.test('a response that is an error or redirect keeps its status, and any when the listener says so', async t => {
  for (const [status, keepsStatus] of [
    [303, false],
    [404, false],
    [200, true],
  ] as const) {
    const { kernel, dispatcher, request } = createFailing()
    dispatcher.on(ExceptionEvent, event => {
      event.keepsStatus = keepsStatus
      event.respond(new Response('', { status }))
    })
    t.equal((await kernel.handle(request)).status, status)
  }
})

t.test('a listener may replace the error for those after it', async t => {
  const { kernel, dispatcher, request } = createFailing()
  dispatcher.on(ExceptionEvent, event => {
    event.error = new HttpError(410, 'gone')
  })
  dispatcher.on(ExceptionEvent, event => event.respond(new Response()), -1)
  t.equal((await kernel.handle(request)).status, 410)
})

t.test('without a listener that answers, a main request gets the last resort, and a sub-request the error', async t => {
  const main = createFailing()
  const response = await main.kernel.handle(main.request)
  t.equal(response.status, 500)
  t.equal(response.body, 'Internal Server Error\n')
  const sub = createFailing()
  await t.rejects(sub.kernel.forward(sub.request, sub.request.attributes.get('_controller') ?? ''), failure)
  t.strictSame(sub.sequence.slice(-2), ['kernel.exception (sub)', 'kernel.finish_request (sub)'])
})

t.test('stopPropagation without a response leaves the last resort', async t => {
  const { kernel, dispatcher, request } = createFailing()
  dispatcher.on(ExceptionEvent, event => event.stopPropagation(), 1)
  dispatcher.on(ExceptionEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, 'Internal Server Error\n')
})

t.test('a listener that throws leaves the client with the last resort', async t => {
  const { kernel, dispatcher, request } = createFailing()
  dispatcher.on(ExceptionEvent, () => Promise.reject(new Error('worse')))
  t.equal((await kernel.handle(request)).status, 500)
})

t.test('it is not dispatched for a caller who wants the error itself', async t => {
  const { kernel, request, sequence } = createFailing()
  await t.rejects(kernel.handle(request, { catchErrors: false }), failure)
  t.notOk(sequence.includes('kernel.exception'))
  t.equal(sequence.at(-1), 'kernel.finish_request')
})

t.test('what is thrown need not be an error', async t => {
  const { kernel, dispatcher, request } = createFailing('just text')
  dispatcher.on(ExceptionEvent, event => event.respond(new Response(String(event.error))))
  const response = await kernel.handle(request)
  t.equal(response.body, 'just text')
  t.equal(response.status, 500)
})
