import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Bundle,
  createFrameworkBundle,
  ExceptionEvent,
  HttpError,
  type KernelEvent,
  type Request,
  RequestEvent,
  ResponseEvent,
} from 'sinfonietta'
import { createRequest, createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { defineController } from '#kernel/controller.ts'
import type { EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { lifecycle } from '#tests/support/lifecycle.ts'

const production = { APP_ENV: 'prod', APP_SECRET: 'of production, and long enough for it' }

const pages: Bundle = {
  name: 'pages',
  register({ routes }) {
    routes.add({ name: 'fine', path: '/fine', controller: () => Response.text('fine') })
    routes.add({ name: 'view', path: '/view', controller: () => 'no response' })
    routes.add({ name: 'boom', path: '/boom', controller: boom })
  },
}

function boom(): never {
  throw new Error('the controller failed')
}

async function boot(t: Test, register: Bundle['register'], variables = {}): Promise<TestKernel> {
  const bundles = [createFrameworkBundle(), pages, { name: 'own', register }]
  const kernel = await createTestKernel({ bundles, variables })
  t.teardown(() => kernel.close())
  return kernel
}

/** A listener that fails each time it is called, as a developer writes it first: without a look at the request. */
function failing(type: EventClass<KernelEvent>, isAsync: boolean): Bundle['register'] {
  return ({ dispatcher }) => {
    const fail = () => {
      throw new Error(`the listener of ${type.eventName} failed`)
    }
    dispatcher.on(type, isAsync ? async () => fail() : fail, 0, 'failing')
  }
}

const paths: Readonly<Record<string, string>> = { 'kernel.exception': '/boom', 'kernel.view': '/view' }

for (const type of lifecycle.filter(({ eventName }) => eventName !== 'kernel.terminate')) {
  for (const isAsync of [false, true]) {
    t.test(`a listener of ${type.eventName} that ${isAsync ? 'rejects' : 'throws'} leaves the error page`, async t => {
      const { eventName } = type
      const path = paths[eventName] ?? '/fine'
      const { client, records } = await boot(t, failing(type, isAsync))
      const response = await client.get(path)
      t.equal(response.status, 500)
      t.match(response.text, '<h1>', 'the error page')
      const message = eventName === 'kernel.exception' ? 'the controller failed' : `the listener of ${eventName} failed`
      t.match(response.text, message)
      t.equal(decodeURIComponent(response.headers.get('x-debug-exception') ?? ''), message)
      t.equal(response.headers.get('x-robots-tag'), 'noindex', 'listeners after the failing one were called')
      const skipped = records.filter(({ message }) => message.startsWith('The listener failing of'))
      // What comes before the error page alone is not called once more for it.
      t.equal(skipped.length > 0, eventName !== 'kernel.view')
      for (const { context, level } of skipped) {
        t.match({ ...context, level }, { listener: 'failing', event: eventName, level: 'critical' })
      }
    })
  }
}

t.test('after a mistake of a client, no failure of a listener is critical', async t => {
  const levels = async (first: Error, failure: Error) => {
    const { client, records } = await boot(t, ({ dispatcher, routes }) => {
      routes.get('first', '/first', () => {
        throw first
      })
      dispatcher.on(RequestEvent, event => {
        if (!event.isMainRequest) throw failure
      })
    })
    await client.get('/first')
    return records.filter(({ message }) => message.startsWith('The listener')).map(({ level }) => level)
  }
  const broken = () => new Error('broken')
  t.strictSame(await levels(new HttpError(400, 'Your mistake.'), broken()), ['error'])
  t.strictSame(await levels(new HttpError(401, 'Log in.'), new HttpError(401, 'Log in.')), ['info'])
  t.strictSame(await levels(new HttpError(404, 'Not here.'), new HttpError(503, 'Not now.')), ['error'])
  t.strictSame(await levels(new HttpError(503, 'Not now.'), new HttpError(401, 'Log in.')), ['critical'])
  t.strictSame(await levels(broken(), broken()), ['critical'])
})

t.test('in production the error page is the one that visitors know', async t => {
  const { client } = await boot(t, failing(RequestEvent, false), production)
  const response = await client.get('/fine')
  t.equal(response.status, 500)
  t.match(response.text, 'An Error Occurred: Internal Server Error')
  t.notMatch(response.text, 'kernel.request')
})

t.test('a listener that fails on error pages alone leaves their status and headers alone', async t => {
  const { client } = await boot(t, ({ dispatcher }) => {
    dispatcher.on(ResponseEvent, ({ response }) => {
      if (response.status === 404) throw new Error('never seen')
    })
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-after', 'called'), -1)
  })
  const response = await client.get('/nowhere')
  t.equal(response.status, 404)
  t.equal(response.headers.get('x-after'), 'called')
})

t.test('a listener that asks for its own page, or for a page that fails, does not end in a loop', async t => {
  const { client } = await boot(t, ({ dispatcher, kernel, routes }) => {
    routes.get('again', '/again', boom)
    routes.get('unlinked', '/unlinked', boom)
    const pages: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
      '/boom': request => kernel.handle(request.duplicate()),
      '/again': request => kernel.forward(request, boom),
      // Without its parent, it has no depth: the stack ends.
      '/unlinked': () => kernel.handle(createRequest('/unlinked').duplicate()),
    }
    dispatcher.on(ExceptionEvent, async ({ request }) => void (await pages[request.path]?.(request)), 0, 'asking')
  })
  for (const path of ['/boom', '/again', '/unlinked']) {
    const response = await client.get(path)
    t.equal(response.status, 500, path)
    t.match(response.text, 'the controller failed', path)
  }
})

const secret = 'hunter2'.repeat(2)

const brokenErrorPage: Bundle['register'] = ({ controllers }) => {
  const broken = defineController('error_controller', () => {
    throw new Error('the page <b>failed</b>', { cause: new Error(`password=${secret}`) })
  })
  controllers.decorate('error_controller', () => broken)
}

t.test('the last resort shows developers the error, its place and why there is no error page', async t => {
  const { client } = await boot(t, brokenErrorPage)
  const { headers, status, text } = await client.get('/boom?a=%3Cscript%3E&password=hunter2hunter2')
  t.equal(status, 500)
  t.equal(headers.get('content-type'), 'text/html; charset=UTF-8')
  t.match(text, 'Error: the controller failed')
  t.match(text, /&gt; +\d+ \| {3}throw new Error\(&#39;the controller failed&#39;\)/, 'its line')
  t.match(text, /at [\w.]*boom \(tests\/application\/failing-listeners\.test\.ts:\d+\)/, 'its place')
  t.match(text, 'The error page failed, too')
  t.match(text, 'Error: the page &lt;b&gt;failed&lt;/b&gt;')
  t.match(text, 'Caused by Error: password=')
  t.notOk(text.includes(secret))
  t.notMatch(text, /<script/)
})

t.test('the last resort shows what has no place, too', async t => {
  const { client } = await boot(t, app => {
    brokenErrorPage(app)
    // Anything can be thrown.
    app.routes.add({ name: 'text', path: '/text', controller: () => Promise.reject('just text') })
  })
  t.match((await client.get('/text')).text, /<pre>Thrown value: just text<.pre>/)
})

t.test('the last resort masks the address as a URL, and names of errors', async t => {
  const { client } = await boot(t, app => {
    brokenErrorPage(app)
    const fail = () => Promise.reject(Object.assign(new Error('failed'), { name: `E password=${secret}` }))
    app.routes.add({ name: 'named', path: '/named', controller: fail })
  })
  const { text } = await client.get(`/named?password=it%22s%20${secret}&q=%7B%22password%22:%22it's%20${secret}%22%7D`)
  t.match(text, 'E password=******: failed')
  t.match(text, '?password=******&amp;q=')
  t.notOk(text.includes(secret))
})

t.test('listeners that take the response to an error away leave it as it was', async t => {
  const { client, records } = await boot(t, ({ dispatcher }) => {
    const take = (event: ResponseEvent) => event.isMainRequest && Reflect.set(event, 'response', undefined)
    dispatcher.on(ResponseEvent, take, -2000)
  })
  const response = await client.get('/nowhere')
  t.equal(response.status, 404)
  t.match(response.text, '<h1>')
  t.match(records.at(-1)?.message, /The listener .* of kernel.response failed while an error was answered/)
})

t.test('the last resort is constant for all other clients', async t => {
  const text = 'Internal Server Error\n'
  const debug = await boot(t, brokenErrorPage)
  const far = debug.createClient({ remoteAddress: '203.0.113.5' })
  t.equal((await far.get('/boom')).text, text)
  const { client } = await boot(t, brokenErrorPage, production)
  t.equal((await client.get('/boom')).text, text)
})

t.test('a last resort that fails is constant, too', async t => {
  const failing: Bundle = {
    name: 'failing',
    decorate: foundation => ({
      ...foundation,
      lastResort() {
        throw new Error('worst')
      },
    }),
    register: brokenErrorPage,
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), pages, failing] })
  t.teardown(close)
  t.equal((await client.get('/boom')).text, 'Internal Server Error\n')
  t.match(records.at(-1), { level: 'critical', message: 'The last resort failed.' })
})

t.test('of requests that are isolated only core bundles are notified', async t => {
  const heard: string[] = []
  const listen = (name: string, isCore: boolean): Bundle => ({
    name,
    isCore,
    register({ dispatcher, isolated }) {
      isolated.push(({ path }) => path === '/fine' || path === '/boom')
      for (const type of lifecycle) dispatcher.on(type, ({ request }) => void heard.push(`${name} ${request.path}`))
    },
  })
  const bundles = [createFrameworkBundle(), pages, listen('core', true), listen('other', false)]
  const { app, client, close } = await createTestKernel({ bundles })
  t.teardown(close)
  app.dispatcher.on(RequestEvent, () => void heard.push('of no bundle'))
  t.equal((await client.get('/fine')).status, 200)
  t.strictSame([...new Set(heard)], ['core /fine'])
  heard.length = 0
  t.equal((await client.get('/boom')).status, 500)
  t.strictSame([...new Set(heard)], ['core /boom'], 'also while an error is answered')
  heard.length = 0
  await client.get('/fine')
  await client.get('/view')
  t.strictSame([...new Set(heard)], ['core /fine', 'core /view', 'other /view', 'of no bundle'])
})

t.test('an error is answered in the context of its request, also that of a stream', async t => {
  const contexts: unknown[] = []
  const { client } = await boot(t, ({ context, dispatcher, routes }) => {
    context.enable()
    const listen = (event: KernelEvent) => void contexts.push(context.current === event.request)
    dispatcher.on(ExceptionEvent, listen)
    dispatcher.on(ResponseEvent, listen)
    routes.get('later', '/later', async () => {
      await nextTurn()
      throw new Error('later')
    })
    routes.get('stream', '/stream', () => {
      const body = new Readable({ read: () => void body.destroy(new Error('the stream failed')) })
      return Response.stream(body)
    })
  })
  for (const path of ['/boom', '/later', '/stream']) {
    t.equal((await client.get(path)).status, 500, path)
    t.ok(contexts.length >= 3 && contexts.every(Boolean), `${path}: ${contexts.splice(0)}`)
  }
})
