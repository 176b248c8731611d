import { AssertionError } from 'node:assert'
import {
  type Bundle,
  createFrameworkBundle,
  defineSettings,
  Headers,
  type Request,
  RequestEvent,
  ResponseEvent,
} from 'sinfonietta'
import { ProfileAssertionError, type ProfileCheck, ProfileExpectation } from 'sinfonietta/profiler/testing'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import {
  createProfiledTestKernel,
  type ProfiledTestKernel,
  waitForStored,
} from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createQuery } from '#tests/support/create-profile.ts'
import { portableSite } from '#tests/support/project.ts'
import { serveKernel } from '#tests/support/test-server.ts'

class OrderPlaced extends Event {
  static readonly eventName = 'order.placed'
}

class CartListener {
  onResponse({ response }: ResponseEvent): void {
    response.headers.set('x-cart', '0')
  }
}

const shopBundle: Bundle = {
  name: 'shop',
  register({ collectors, dispatcher, kernel, logger, queries, routes }) {
    dispatcher.subscribe(ResponseEvent, new CartListener(), 'onResponse')
    dispatcher.on(
      RequestEvent,
      event => {
        if (event.request.path === '/closed') event.respond(Response.text('closed', { status: 503 }))
      },
      64,
      'openingHours',
    )
    collectors.push({ name: 'cart', collect: () => ({ items: 2 }) })
    const order = async (request: Request) => {
      logger.info('An order of {name}.', { name: 'Ada' })
      logger.warning('The stock is low.')
      await request.session.set('order', 7)
      await Promise.allSettled(['http://127.0.0.1:6/geo', 'http://127.0.0.1:6/pay'].map(url => fetch(url)))
      await dispatcher.dispatch(new OrderPlaced())
      request.stopwatch.measure('database', 'sql', () => undefined)
      return kernel.forward(request, () => Response.text('ordered'))
    }
    routes.add({ name: 'order', path: '/order', controller: order })
    routes.add({
      name: 'broken',
      path: '/broken',
      controller: () => {
        throw new RangeError('too many', { cause: new TypeError('no number') })
      },
    })
    routes.add({
      name: 'posts',
      path: '/posts',
      controller: async () => {
        queries.measure('sqlite', 'SELECT * FROM posts', [], () => [1, 2])
        for (const id of [1, 2]) queries.measure('sqlite', 'SELECT * FROM comments WHERE post = ?', [id], () => [])
        await queries.measure('redis', 'GET posts', [], async () => null)
        return Response.text('posts')
      },
    })
    routes.add({ name: 'quiet', path: '/quiet', controller: () => Response.text('quiet') })
  },
}

async function boot(t: Test): Promise<ProfiledTestKernel> {
  const bundles = [createFrameworkBundle(), portableSite, shopBundle]
  const kernel = await createProfiledTestKernel({ bundles, directory: t.testdir() })
  t.teardown(() => kernel.close())
  return kernel
}

async function ask(t: Test, path: string): Promise<ProfileExpectation> {
  const { client, expectProfile } = await boot(t)
  return expectProfile(await client.get(path))
}

/** Returns the failure of a false claim. */
function fail(claim: () => unknown): ProfileAssertionError {
  try {
    claim()
  } catch (error) {
    if (error instanceof ProfileAssertionError) return error
    throw error
  }
  throw new Error('A claim was found to be true that is not.')
}

/** The message, without the parts that differ each time. */
function sentence(claim: () => unknown): string {
  return fail(claim)
    .message.replace('http://localhost', '')
    .replace(/ \(profile [0-9a-f]{6}\)\.$/, '')
    .replace(/[\d.]+ m?s$/, '5 ms')
}

t.test('claims can be chained', async t => {
  const profile = await ask(t, '/order')
  const same = profile
    .answered(200)
    .matched('order')
    .not.threw()
    .dispatched('kernel.request')
    .dispatched(OrderPlaced, 1)
    .not.dispatched('kernel.view')
    .dispatchedInOrder(RequestEvent, 'order.placed', ResponseEvent)
    .not.dispatchedInOrder(ResponseEvent, RequestEvent)
    .called('CartListener.onResponse', 1)
    .called('CartListener')
    .not.called('ErrorListener')
    .calledInOrder('RouterListener.onRequest', 'CartListener.onResponse')
    .not.rendered()
    .logged('info', 'An order of Ada')
    .logged('debug', /^Matched route "\w+"\.$/, 1)
    .logged('warning', undefined, 1)
    .not.logged('error')
    .sentRequests(2)
    .sentRequestsTo('/geo', 1)
    .sentRequestsTo(/pay$/)
    .not.sentRequestsTo('/mail')
    .madeSubRequests(1)
    .startedSession()
    .not.hadFindings('insecure-cookie')
    .tookAtMost(60_000)
    .not.tookAtMost(0)
  t.equal(same, profile)
  for (const part of ['controller', 'calls', 'database', 'order.placed', 'CartListener.onResponse']) {
    profile.tookAtMost(60_000, part)
  }
  t.strictSame(profile.dataOf('cart'), { items: 2 })
  t.match(profile.toMarkdown('logger'), '## Logs')
  t.equal(profile.profile.summary.route, 'order')
})

t.test('pages, failures and sub-requests have their own profiles', async t => {
  const page = await ask(t, '/star-photo-booth')
  page
    .rendered('site/star-photo-booth')
    .rendered('site/layout', 1)
    .rendered()
    .tookAtMost(60_000, 'templates')
    .not.madeSubRequests()
    .not.sentRequests()
    .not.startedSession()
  const failed = await ask(t, '/broken')
  failed
    .answered(500)
    .threw()
    .threw('RangeError')
    .threw('RangeError', 'many')
    .threw('TypeError', /^no number$/)
  failed.not.threw('RangeError', 'few').not.answered(200).madeSubRequests(1)
  const [errorPage] = failed.subRequests
  errorPage?.answered(500).not.matched('broken').not.threw().rendered('framework/error')
})

t.test('a failure states the expectation and the facts', async t => {
  const order = await ask(t, '/order')
  const broken = await ask(t, '/broken')
  const quiet = await ask(t, '/quiet')
  const missing = await ask(t, '/missing')
  const claims: readonly (readonly [claim: () => unknown, sentence: string])[] = [
    [() => order.answered(201), 'Expected GET /order to be answered with 201 Created, but it was answered with 200 OK'],
    [
      () => broken.answered(200),
      'Expected GET /broken to be answered with 200 OK, but it was answered with 500 Internal Server Error, after RangeError was thrown',
    ],
    [
      () => order.not.answered(200),
      'Expected GET /order not to be answered with 200 OK, but it was answered with 200 OK',
    ],
    [() => order.matched('cart'), 'Expected GET /order to match the route "cart", but it matched "order"'],
    [() => missing.matched('cart'), 'Expected GET /missing to match the route "cart", but it matched none'],
    [() => order.threw(), 'Expected GET /order to throw something, but it threw nothing'],
    [
      () => broken.threw('RangeError', 'few'),
      'Expected GET /broken to throw RangeError that says "few", but it threw RangeError: too many, TypeError: no number',
    ],
    [
      () => broken.not.threw('TypeError', /no/),
      'Expected GET /broken not to throw TypeError that says /no/, but it threw RangeError: too many, TypeError: no number',
    ],
    [
      () => missing.dispatched('kernel.view'),
      'Expected GET /missing to dispatch kernel.view, but it dispatched kernel.request, kernel.exception, kernel.response, kernel.finish_request, kernel.terminate',
    ],
    [
      () => quiet.dispatched(ResponseEvent, 2),
      'Expected GET /quiet to dispatch kernel.response twice, but it was dispatched once',
    ],
    [
      () => quiet.dispatchedInOrder(ResponseEvent, RequestEvent),
      'Expected GET /quiet to dispatch in this order: kernel.response, kernel.request, but the order was kernel.request, kernel.response',
    ],
    [
      () => quiet.calledInOrder('A', 'B'),
      'Expected GET /quiet to call in this order: A, B, but there was none of them',
    ],
    [
      () => quiet.called('CartListner.onResponse'),
      'Expected GET /quiet to call the listener CartListner.onResponse, but no listener of that name is registered: did you mean CartListener.onResponse, RobotsListener.onResponse, ToolbarListener.onResponse?',
    ],
    [
      () => quiet.called('zz'),
      'Expected GET /quiet to call the listener zz, but no listener of that name is registered',
    ],
    [() => quiet.called('ErrorListener'), 'Expected GET /quiet to call the listener ErrorListener, but it was not'],
    [
      () => missing.called('BodyListener.onRequest'),
      'Expected GET /missing to call the listener BodyListener.onRequest, but RouterListener.onRequest has thrown before',
    ],
    [
      () => quiet.called('CartListener', 3),
      'Expected GET /quiet to call the listener CartListener 3 times, but it was called once',
    ],
    [() => quiet.rendered('site/cart'), 'Expected GET /quiet to render the template site/cart, but it rendered none'],
    [() => quiet.rendered(undefined, 1), 'Expected GET /quiet to render templates once, but it rendered none'],
    [
      () => quiet.logged('critical', 'lost'),
      'Expected GET /quiet to log a message of level critical that says "lost", but it logged nothing of level critical',
    ],
    [
      () => order.not.logged('warning'),
      'Expected GET /order not to log a message of level warning or above, but it logged warning "The stock is low."',
    ],
    [
      () => order.logged('warning', /high/),
      'Expected GET /order to log a message of level warning or above that says /high/, but it logged warning "The stock is low."',
    ],
    [() => quiet.sentRequests(), 'Expected GET /quiet to send requests, but it sent none'],
    [
      () => order.sentRequestsTo('/geo', 2),
      'Expected GET /order to send 2 requests to /geo, but it sent GET http://127.0.0.1:6/geo (failed), GET http://127.0.0.1:6/pay (failed)',
    ],
    [() => quiet.madeSubRequests(1), 'Expected GET /quiet to make 1 sub-request, but it made none'],
    [
      () => missing.not.madeSubRequests(),
      'Expected GET /missing not to make sub-requests, but it made error_controller (404)',
    ],
    [
      () => quiet.hadFindings('late-work'),
      'Expected GET /quiet to have findings of the rule late-work, but it had none',
    ],
    [() => quiet.hadFindings(), 'Expected GET /quiet to have findings, but it had none'],
    [() => quiet.startedSession(), 'Expected GET /quiet to start the session, but it did not'],
    [() => order.not.startedSession(), 'Expected GET /order not to start the session, but it did'],
    [() => quiet.tookAtMost(0), 'Expected GET /quiet to take at most 0 ms, but it took 5 ms'],
    [
      () => order.tookAtMost(-1, 'database'),
      'Expected GET /order to take at most -1 ms for database, but it took 5 ms',
    ],
  ]
  for (const [claim, expected] of claims) t.equal(sentence(claim), expected)
  t.match(
    sentence(() => missing.tookAtMost(1, 'controller')),
    /for controller, but nothing was measured of it, but of request, /,
  )
  t.throws(() => order.not.logged('warn' as 'warning'), {
    message: 'there is no level "warn": use debug, info, warning',
  })
})

t.test('a test states which queries ran', async t => {
  const posts = await ask(t, '/posts')
  posts
    .ran()
    .ran(3)
    .not.ran(2)
    .ran({ atMost: 3 })
    .not.ran({ atMost: 2 })
    .ran({ text: 'FROM comments', count: 2 })
    .ran({ text: /^SELECT \* FROM posts$/, count: 1 })
    .not.ran({ text: 'INSERT' })
    .ran({ kind: 'cache', count: 1 })
    .ran({ system: 'redis' })
    .ran({ system: 'sqlite', count: 3 })
    .not.ran({ isRepeated: true })
    .tookAtMost(60_000, 'queries')
  const quiet = await ask(t, '/quiet')
  quiet.ran(0).not.ran().not.ran({ kind: 'cache' })
  const shapes = '1 × SELECT * FROM posts, 2 × SELECT * FROM comments WHERE post = ?'
  const claims: readonly (readonly [claim: () => unknown, sentence: string])[] = [
    [() => posts.ran(1), `Expected GET /posts to run 1 database query, but it ran 3; in all ${shapes}`],
    [
      () => posts.ran({ atMost: 1, text: 'comments' }),
      `Expected GET /posts to run at most 1 database query like comments, but it ran 2; in all ${shapes}`,
    ],
    [() => quiet.ran(), 'Expected GET /quiet to run database queries, but it ran none'],
    [
      () => posts.ran({ isRepeated: true, kind: 'cache', count: 2 }),
      'Expected GET /posts to run 2 repeated cache queries, but it ran 0; in all 1 × GET posts',
    ],
    [
      () => posts.ran({ system: 'mysql' }),
      `Expected GET /posts to run queries of mysql, but it ran 0; in all ${shapes}, 1 × GET posts`,
    ],
  ]
  for (const [claim, expected] of claims) t.equal(sentence(claim), expected)
  t.match(
    fail(() => posts.ran(1)),
    { expected: 1, actual: 3 },
  )
  t.match(
    fail(() => posts.ran({ atMost: 1 })),
    { expected: 'at most 1', actual: 3 },
  )
  t.match(fail(() => posts.ran(1)).cause.message, /^### Statement shapes$/m)
  const shown = { isPinned: false, findings: [], earlier: [], parent: undefined, children: [] }
  const many = createProfile({ queries: { queries: [createQuery()], omitted: 600 } }, { queries: 601 })
  new ProfileExpectation({ ...shown, profile: many }, []).ran(601).ran({ text: 'SELECT', count: 1 })
})

t.test('the failure for a skipped listener names the listener that stopped the event', async t => {
  const profile = await ask(t, '/closed')
  t.equal(
    sentence(() => profile.called('RouterListener')),
    'Expected GET /closed to call the listener RouterListener, but openingHours has stopped kernel.request before',
  )
})

t.test('a failure is an AssertionError with a difference, an excerpt, and a stack that begins in the test', async t => {
  const profile = await ask(t, '/order')
  const failure = fail(() => profile.called('CartListener', 2))
  t.type(failure, AssertionError)
  t.match(failure, { name: 'AssertionError', expected: 2, actual: 1, operator: 'called' })
  t.match(failure.cause.message, /^# 200 OK: `GET http:\/\/localhost\/order`\n[\s\S]*\n- `kernel.request` /m)
  t.strictSame([failure.cause.name, failure.cause.stack], ['Profile', ''], 'runners show its text without calls')
  t.match(failure.stack?.split('\n    at ')[1], /expect-profile\.test/)
  const negated = fail(() => profile.not.answered(200))
  t.hasStrict(negated, { expected: { not: 200 }, actual: 200 })
  t.match(fail(() => profile.not.startedSession()).cause.message, /^## Session$/m)
  t.equal(profile.not.not, profile)
})

t.test('an unknown rule is refused, also where none of it is expected', async t => {
  const quiet = await ask(t, '/quiet')
  t.throws(() => quiet.not.hadFindings('repeated-query'), { code: 'ARGUMENT_INVALID', message: '"repeated-queries"' })
  t.throws(() => quiet.not.hadFindings('n+1'), { message: /there is no rule "n\+1": use .*repeated-queries/ })
})

t.test('wrong options are refused', async t => {
  const create = createProfiledTestKernel as (options?: unknown) => Promise<unknown>
  for (const boot of [create, createTestKernel as typeof create]) {
    await t.rejects(boot(), { code: 'ARGUMENT_INVALID', message: /options are an object with bundles.*not undefined/ })
    await t.rejects(boot({ bundles: () => [] }), { code: 'KERNEL_BUNDLES_MISSING' })
  }
})

t.test('the error of a setting without a value names what tests do not read', async t => {
  const settings = defineSettings({ TEST_ADDRESS: { help: 'an address' }, TEST_COUNT: { help: 'a count' } })
  const booted = createTestKernel({
    bundles: [{ name: 'needy', settings, register() {} }],
    variables: { TEST_COUNT: '1' },
  })
  const message =
    /TEST_ADDRESS is not set; .*\nA test reads neither .env files nor the environment: pass variables: { TEST_ADDRESS: … }\.$/
  await t.rejects(booted, { code: 'CONFIG_INVALID', message })
})

t.test('a test can add its own claims', async t => {
  const cheap: ProfileCheck = {
    claim: 'have a cheap cart',
    panel: 'cart',
    examine({ profile }) {
      const { items } = Object(profile.data.cart)
      return { holds: items < 2, expected: 'less than 2', actual: items, found: `it has ${items} items` }
    },
  }
  const profile = await ask(t, '/quiet')
  profile.not.satisfied(cheap)
  const { cause, message } = fail(() => profile.satisfied(cheap))
  t.match(message, 'to have a cheap cart, but it has 2 items')
  t.match(cause.message, /^ {2}"items": 2$/m)
})

t.test('long lists and profiles are cut; a profile may have no response', async t => {
  const missing = await ask(t, '/missing')
  const excerpt = fail(() => missing.answered(200)).cause.message.split('\n')
  t.equal(excerpt.length, 61)
  t.match(excerpt.at(-1), /^… and \d+ more lines: toMarkdown\(\) gives them all\.$/)
  const records = Array.from({ length: 23 }, (_, index) => ({ level: 'error', message: `no ${index}` }))
  const profile = createProfile({ logger: { records } }, { status: 0, children: ['aaaaaa'] })
  const { summary } = createProfile({}, { controller: null })
  const finding = { rule: 'late-work', title: 'Late', problem: 'It was late.', advice: 'Wait.', evidence: {} }
  const findings = [{ ...finding, severity: 'warning' as const }]
  const shown = { profile, isPinned: false, findings, parent: undefined, children: [summary], earlier: [] }
  const expectation = new ProfileExpectation(shown, [])
  t.match(
    sentence(() => expectation.called('Missing.onRequest')),
    /no listener of that name is registered/,
    'the listeners of the process are not known',
  )
  t.match(
    sentence(() => expectation.hadFindings().not.hadFindings('late-work')),
    /not to have findings of the rule late-work, but it had late-work \(It was late\.\)/,
  )
  t.match(
    sentence(() => expectation.not.logged('error')),
    /error "no 19", 3 more$/,
  )
  t.match(
    sentence(() => expectation.answered(200)),
    'it was answered with nothing',
  )
  t.match(
    sentence(() => expectation.not.madeSubRequests()),
    'it made /somewhere?q=1 (200)',
  )
})

t.test('a profile is found by the request, or by the header of the response', async t => {
  const kernel = await boot(t)
  const { client, expectProfile, profileOf } = kernel
  const foreign = await client.get('/quiet', { headers: { host: 'shop.test' } })
  t.notOk(foreign.headers.has('x-debug-token'))
  t.equal((await profileOf(foreign)).summary.url, 'http://shop.test/quiet')
  const { url } = await serveKernel(t, kernel)
  const fetched = await fetch(`${url}/quiet`)
  ;(await expectProfile(fetched)).answered(200)

  const unrecorded = await client.get('/quiet', { headers: { 'x-profiler': 'off' } })
  await t.rejects(
    expectProfile(unrecorded),
    /^There is no profile of GET http:\/\/localhost\/quiet\. Not recorded are /,
  )
  await t.rejects(expectProfile(await client.get('/_profiler/')), TypeError, 'a page of the profiler')
  await t.rejects(expectProfile({ headers: new Headers() }), /^There is no profile of the request\./)
  await t.rejects(waitForStored(kernel.storage, 'ffffff', undefined, 1), {
    message: 'There is no such profile "ffffff".',
  })
  const token = String(fetched.headers.get('x-debug-token'))
  await t.rejects(
    waitForStored(kernel.storage, token, ({ summary }) => summary.status === 201, 1),
    /^This never became true: .*summary\.status === 201, of the profile "[0-9a-f]+"\.$/,
  )
})

t.test('the profiler needs the framework', async t => {
  await t.rejects(createProfiledTestKernel({ bundles: [shopBundle] }), /put createFrameworkBundle first/)
})
