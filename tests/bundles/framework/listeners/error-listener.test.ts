import { defineError, HttpError, type Request } from 'sinfonietta'
import { createBareKernel, createExceptionEvent, createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { ErrorListener } from '#bundles/framework/listeners/error-listener.ts'
import { ControllerResolver, defineController, toController } from '#kernel/controller.ts'
import { ThrownFrames } from '#kernel/debug/thrown-frames.ts'
import { Response } from '#lib/http/response.ts'
import { createLogger } from '#lib/log/create-logger.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const thrown = new ThrownFrames({ controllers: { registered: [] }, directory: '/shop', routes: [] })

/** An error with a code of the catalogue. */
function createError(code: string, status: number): HttpError {
  return new (defineError(code, status, 'refused'))([])
}

function createListener(isDebug = true) {
  const { logger, records } = createRecorder()
  return { listener: new ErrorListener({ logger, isDebug, thrown }), records }
}

t.test('an error is answered by a sub-request to the error controller: GET, with what it needs to know', async t => {
  const controllers = new ControllerResolver()
  let seen: Request | undefined
  controllers.register(
    'error_controller',
    toController(request => {
      seen = request
      return new Response('sorry', { status: 418 })
    }),
  )
  const error = new Error('lost')
  const request = createRequest('/here', { method: 'POST', headers: { 'x-a': '1' } })
  const event = createExceptionEvent(error, { request, kernel: createBareKernel(undefined, { controllers }).kernel })
  await createListener().listener.onException(event)
  t.equal(event.response?.body, 'sorry')
  t.ok(event.isPropagationStopped)
  t.equal(seen?.method, 'GET')
  t.equal(seen?.url, 'http://localhost/here')
  t.equal(seen?.headers.get('x-a'), '1')
  t.equal(seen?.parent, request)
  t.strictSame([...(seen?.attributes.keys() ?? [])], ['_controller', 'exception', 'logger'])
  t.equal(seen?.attributes.get('exception'), error)
  t.equal(request.attributes.get('_remove_csp_headers'), true)
})

t.test('an error inside the error controller is thrown on', async t => {
  const controllers = new ControllerResolver()
  const worse = new Error('worse')
  controllers.register(
    'error_controller',
    toController(() => {
      throw worse
    }),
  )
  const event = createExceptionEvent(new Error(), { kernel: createBareKernel(undefined, { controllers }).kernel })
  t.throws(() => createListener().listener.onException(event), worse)
  t.equal(event.response, undefined)
})

t.test('an error is critical, and logged with its place', async t => {
  const { listener, records } = createListener()
  listener.logException(createExceptionEvent(new HttpError(503, 'not now')))
  listener.logException(createExceptionEvent(new TypeError('bug')))
  t.match(records, [
    {
      level: 'critical',
      channel: 'request',
      message: /^Uncaught HttpError: "not now" at error-listener\.test\.[jt]s line \d+$/,
      context: { exception: { name: 'HttpError', status: 503 } },
    },
    { level: 'critical', message: /^Uncaught TypeError: "bug" at / },
  ])
})

t.test('a request refused before routing, without a route or a login, is as loud as it is wanted to be', async t => {
  const errors = [
    createError('KERNEL_NO_ROUTE', 404),
    createError('KERNEL_METHOD_NOT_ALLOWED', 405),
    createError('HTTP_HOST_FOREIGN', 400),
    new HttpError(401, 'Log in.'),
    createError('HTTP_METHOD_UNKNOWN', 501),
    createError('HTTP_VERSION_UNSUPPORTED', 505),
  ]
  for (const level of ['error', 'info'] as const) {
    for (const error of errors) {
      const { listener, records } = createListener(level === 'error')
      listener.logException(createExceptionEvent(error))
      const { message, name, status } = error
      const context = { exception: { status, stack: '' } }
      t.match(records, [{ level, message: `Uncaught ${name}: "${message}"`, context }])
    }
  }
})

t.test('refused values and requests of other origins are no errors of the application', async t => {
  const refusals = [
    createError('KERNEL_INPUT_REFUSED', 422),
    new HttpError(422, 'no'),
    createError('HTTP_CROSS_ORIGIN', 403),
  ]
  for (const level of ['error', 'info'] as const) {
    for (const error of refusals) {
      const { listener, records } = createListener(level === 'error')
      listener.logException(createExceptionEvent(error))
      t.match(records, [{ level: 'info', message: `Uncaught ${error.name}: "${error.message}"` }])
    }
    const { listener, records } = createListener(level === 'error')
    listener.logException(createExceptionEvent(new HttpError(409, 'sold out')))
    t.match(records, [{ level: 'error' }])
  }
})

t.test('the class of an error is no name of a secret, and its message is masked', async t => {
  class TokenExpiredError extends Error {}
  class InvalidToken extends Error {}
  const { listener, records } = createListener(false)
  for (const error of [
    new TokenExpiredError('jwt expired'),
    new InvalidToken('at noon'),
    new InvalidToken('token=Kq3W'),
  ]) {
    listener.logException(createExceptionEvent(error))
  }
  t.match(
    records.map(({ message }) => message),
    [
      /^Uncaught TokenExpiredError: "jwt expired" at /,
      /^Uncaught InvalidToken: "at noon" at /,
      /^Uncaught InvalidToken: "token=\*{6}" at /,
    ],
  )
})

t.test('what the application throws is critical from 500 on; below, it is an error and has no place', async t => {
  const { listener, records } = createListener(false)
  const refused = [403, 404, 409].map(status => new HttpError(status, 'no'))
  for (const error of [...refused, createError('BODY_TOO_LARGE', 413)])
    listener.logException(createExceptionEvent(error))
  for (const status of [500, 501, 503, 505]) listener.logException(createExceptionEvent(new HttpError(status, 'no')))
  t.strictSame(
    records.map(({ level }) => level),
    [...Array(4).fill('error'), ...Array(4).fill('critical')],
  )
  t.equal(records[0]?.message, 'Uncaught HttpError: "no"')
  t.match(records[0]?.context, { exception: { status: 403, stack: '' } })
})

t.test('the place is that of the application, also if a library has thrown', async t => {
  const { listener, records } = createListener()
  const [driver, own] = ['at query (/shop/node_modules/pg-pool/index.js:45:11)', 'at pay (/shop/bundles/pay.ts:7:5)']
  for (const calls of [[driver, 'at <anonymous>', 'at emit (node:events:1:1)', own], [driver]]) {
    const error = new Error('unique')
    error.stack = ['Error: unique', ...calls].join('\n    ')
    listener.logException(createExceptionEvent(error))
  }
  t.match(records, [
    { message: 'Uncaught Error: "unique" at pay.ts line 7' },
    { message: 'Uncaught Error: "unique" at index.js line 45' },
  ])
})

t.test('what is thrown and has no stack is logged all the same', async t => {
  const { listener, records } = createListener()
  const bare = new Error('bare')
  bare.stack = ''
  listener.logException(createExceptionEvent('just text'))
  listener.logException(createExceptionEvent(bare))
  listener.logException(createExceptionEvent(Object.create(null)))
  for (const controller of [defineController('shop', () => undefined), () => new Response(), 'error_controller']) {
    const request = createRequest('/here')
    request.attributes.set('_controller', controller)
    request.attributes.set('_route', 'home')
    listener.logException(createExceptionEvent('text', { request }))
  }
  const criticals = records.filter(({ level }) => level === 'critical')
  t.match(criticals, [
    { level: 'critical', message: 'Uncaught Thrown value: "just text" (controller none)' },
    { message: 'Uncaught Error: "bare" (controller none)' },
    { message: /^Uncaught Thrown value: / },
    { message: 'Uncaught Thrown value: "text" (controller shop)' },
    { message: 'Uncaught Thrown value: "text" (controller home)' },
    { message: 'Uncaught Thrown value: "text" (controller error_controller)' },
  ])
})

t.test('a miss below the level of the log is not written', async t => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const listener = new ErrorListener({
    logger: createLogger({ level: 'warning', format: 'json', stream }),
    isDebug: false,
    thrown,
  })
  listener.logException(createExceptionEvent(createError('KERNEL_NO_ROUTE', 404)))
  t.strictSame(lines, [])
  listener.logException(createExceptionEvent(new HttpError(403, 'No.')))
  t.match(lines, [/"level":"error"/])
})
