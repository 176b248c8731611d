import { type Test, t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { currentRequest, queryValue, routeParameter } from '../../kernel/controller/arguments.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import { createTestKernel, type TestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { type CodedErrorClass, defineError } from '../../lib/errors/coded-error.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { Response } from '../../lib/http/response.ts'

const order = defineController('order', [queryValue('item')], item => {
  if (item === 'moon') throw new HttpError(404, 'We do not sell moons.')
  throw new HttpError(429, 'One order a minute, please.', { headers: { 'retry-after': '60' } })
})

const SHOP_SOLD_OUT: CodedErrorClass<[item: string, left: number]> = defineError(
  'SHOP_SOLD_OUT',
  409,
  'Of "%s" there are only %s left.',
)

const reserve = defineController('reserve', [routeParameter('item')], item => {
  throw new SHOP_SOLD_OUT([item, 2], { cause: new Error('The shelf is empty.') })
})

const pay = defineController('pay', [], () => {
  throw new Error('The bank said: account 4711 unknown.')
})

const shopBundle: Bundle = {
  name: 'shop',
  register({ routes }) {
    routes.add({ name: 'order', path: '/order', controller: order })
    routes.add({ name: 'reserve', path: '/reserve/:item', controller: reserve })
    routes.add({ name: 'pay', path: '/pay', controller: pay })
  },
}

async function boot(
  t: Test,
  variables: Record<string, string> = {},
  more: readonly Bundle[] = [],
): Promise<TestKernel> {
  const kernel = await createTestKernel({ bundles: [frameworkBundle, shopBundle, ...more], variables })
  t.teardown(kernel.close)
  return kernel
}

t.test('the status and the headers are those of the error', async t => {
  const { client } = await boot(t)
  const response = await client.get('/order?item=booth')
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), '60')
  t.equal((await client.get('/order?item=moon')).status, 404)
  t.equal((await client.get('/order')).status, 400, 'the query parameter is missing')
})

t.test('an error of a catalogue has a code and a status', async t => {
  t.match(new SHOP_SOLD_OUT(['booth', 2]), {
    code: 'SHOP_SOLD_OUT',
    status: 409,
    message: 'Of "booth" there are only 2 left.',
  })
  const { client } = await boot(t)
  t.equal((await client.get('/reserve/booth')).status, 409)
})

const json = { headers: { accept: 'application/json' } }

t.test('a program gets problem details, a terminal gets text', async t => {
  const { client } = await boot(t)
  const page = await client.get('/reserve/booth')
  t.equal(page.headers.get('content-type'), 'text/html; charset=UTF-8')

  const problem = await client.get('/reserve/booth', json)
  t.equal(problem.headers.get('content-type'), 'application/problem+json')
  t.match(problem.json(), { title: 'Conflict', status: 409, detail: 'Of "booth" there are only 2 left.' })

  const text = await client.get('/reserve/booth', { headers: { accept: 'text/plain' } })
  t.match(text.text, /^# 409 Conflict/)
})

const production = { APP_ENV: 'prod' }

t.test('a visitor learns the status, and of a failure nothing else', async t => {
  const { client } = await boot(t, production)
  const page = await client.get('/pay')
  t.equal(page.status, 500)
  t.match(page.text, 'An Error Occurred: Internal Server Error')
  t.notMatch(page.text, /bank|4711/)

  t.match((await client.get('/pay', json)).json(), { status: 500, detail: 'Internal Server Error' })
  t.match((await client.get('/reserve/booth', json)).json(), { detail: 'Of "booth" there are only 2 left.' })
})

t.test('the page that visitors see can be looked at while you work on it', async t => {
  const { client } = await boot(t)
  const page = await client.get('/_error/503')
  t.equal(page.status, 503)
  t.match(page.text, 'The server returned a "503 Service Unavailable".')
})

t.test('every error is logged once, louder when the code is to blame', async t => {
  const { client, records } = await boot(t)
  const logged = async (path: string) => {
    const before = records.length
    await client.get(path)
    return records.slice(before).filter(({ message }) => message.startsWith('Uncaught'))
  }
  t.match(await logged('/pay'), [
    {
      level: 'critical',
      channel: 'request',
      message: /^Uncaught Error: "The bank said.*" at errors\.test\.ts line \d+$/,
    },
  ])
  t.match(await logged('/reserve/booth'), [
    { level: 'error', message: 'Uncaught SHOP_SOLD_OUT: "Of "booth" there are only 2 left."' },
  ])
  t.match(await logged('/nowhere'), [{ level: 'error', message: /^Uncaught KERNEL_NO_ROUTE: "No route found/ }])
})

t.test('in production, addresses that do not exist are no news', async t => {
  const { client, records } = await boot(t, production)
  await client.get('/nowhere')
  t.ok(records.some(({ level, message }) => level === 'info' && message.startsWith('Uncaught KERNEL_NO_ROUTE')))
})

const politeBundle: Bundle = {
  name: 'polite',
  register({ dispatcher }) {
    dispatcher.on(ExceptionEvent, event => {
      if (event.error instanceof SHOP_SOLD_OUT) event.respond(Response.html('<h1>Sorry, somebody was quicker.</h1>'))
    })
  },
}

t.test('a listener may have a better answer', async t => {
  const { client } = await boot(t, {}, [politeBundle])
  const response = await client.get('/reserve/booth')
  t.equal(response.text, '<h1>Sorry, somebody was quicker.</h1>')
  t.equal(response.status, 409, 'the status stays that of the error')
})

const lostBundle: Bundle = {
  name: 'lost',
  register({ controllers }) {
    controllers.decorate('error_controller', usual =>
      defineController('error_controller', [currentRequest], request => {
        const error = request.attributes.get('exception')
        const isLost = error instanceof HttpError && error.status === 404
        return isLost ? Response.html('<h1>Are you lost?</h1>', { status: 404 }) : usual.call(request)
      }),
    )
  },
}

t.test('an error controller of your own may answer some errors, and leave the others', async t => {
  const { client } = await boot(t, {}, [lostBundle])
  t.equal((await client.get('/nowhere')).text, '<h1>Are you lost?</h1>')
  t.equal((await client.get('/pay')).status, 500)
})

const brokenBundle: Bundle = {
  name: 'broken',
  register({ controllers }) {
    controllers.decorate('error_controller', () =>
      defineController('error_controller', [], () => {
        throw new Error('This page is broken, too.')
      }),
    )
  },
}

t.test('when the error page fails, there is still an answer', async t => {
  const { client, records } = await boot(t, {}, [brokenBundle])
  const response = await client.get('/reserve/booth')
  t.equal(response.status, 500)
  t.equal(response.text, 'Internal Server Error\n')
  t.match(records.at(-1), { level: 'critical', message: 'An error could not be answered.' })
})
