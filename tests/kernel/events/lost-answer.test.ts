import { type Bundle, createFrameworkBundle, type Request, RequestEvent, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

/** Before the router, which has no routes. */
const guardPriority = 40

/** Answers three pages: twice, twice with the same response, and once. */
const guard: Bundle = {
  name: 'guard',
  register({ dispatcher }) {
    dispatcher.on(
      RequestEvent,
      event => {
        const refusal = Response.text('Sign in.', { status: 401 })
        event.respond(refusal)
        if (event.request.path === '/same') event.respond(refusal)
        if (event.request.path === '/twice') event.respond(Response.text('Welcome.'))
      },
      guardPriority,
    )
  },
}

async function answer(variables: Readonly<Record<string, string>>) {
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), guard], variables })
  const responses = [await client.get('/twice'), await client.get('/same'), await client.get('/once')]
  await close()
  return { texts: responses.map(({ text }) => text), warnings: records.filter(({ level }) => level === 'warning') }
}

t.test('a listener may answer twice; in development, the log says which response is not sent', async t => {
  const { texts, warnings } = await answer({})
  t.strictSame(texts, ['Welcome.', 'Sign in.', 'Sign in.'])
  t.equal(warnings.length, 1)
  t.match(
    warnings[0]?.message,
    /^event\.respond\(\) in tests\/\S+lost-answer\.test\.[jt]s:\d+ replaces a response with the status 401, which is not sent: is a "return" missing before this call\?$/,
  )
  t.strictSame((await answer({ APP_ENV: 'prod' })).warnings, [])
})

/** Answers by path, without a look at the kind of its request. */
const greeter: Bundle = {
  name: 'greeter',
  register({ dispatcher, kernel, routes }) {
    const greet = async (event: RequestEvent) => {
      await Promise.resolve()
      if (event.request.path === '/fails') event.respond(Response.text('Welcome.'))
    }
    dispatcher.on(RequestEvent, greet, 300)
    const elsewhere = (request: Request) =>
      kernel.forward(request.duplicate({ target: '/fails' }), () => Response.text('fine'))
    routes.get('forwards', '/forwards', elsewhere)
  },
}

t.test('in development, the log names a listener that tries to answer a sub-request with a controller', async t => {
  const refused = async (variables: Readonly<Record<string, string>>) => {
    const { client, close, records } = await createTestKernel({
      bundles: [createFrameworkBundle(), greeter],
      variables,
    })
    const response = await client.get('/forwards')
    await close()
    return { text: response.text, warnings: records.filter(({ level }) => level === 'warning') }
  }
  const { text, warnings } = await refused({})
  t.equal(text, 'fine')
  t.equal(warnings.length, 1)
  t.match(
    warnings[0]?.message,
    /^event\.respond\(\) in tests\/\S+lost-answer\.test\.[jt]s:\d+ does not answer a sub-request that has its controller, such as an error page: the response with the status 200 is not sent\. Return before this call if event\.isMainRequest is false\.$/,
  )
  t.strictSame(await refused({ APP_ENV: 'prod' }), { text: 'fine', warnings: [] })
})

t.test('in development, the log says that a listener has changed the controller of such a sub-request', async t => {
  const chooser: Bundle = {
    name: 'chooser',
    register({ dispatcher, kernel, routes }) {
      dispatcher.on(RequestEvent, ({ isMainRequest, request }) => {
        if (!isMainRequest) request.attributes.set('_controller', () => Response.text('chosen'))
      })
      const fine = () => Response.text('fine')
      routes.get('forwards', '/forwards', request => kernel.forward(request, fine))
    },
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), chooser] })
  t.teardown(close)
  t.equal((await client.get('/forwards')).text, 'fine')
  const warning = records.find(({ level }) => level === 'warning')
  t.match(warning?.message, 'has changed the controller of a sub-request that has one')
  t.match(warning?.message, '"fine" is called. Use a listener of kernel.controller.')
})
