import { type Application, Response } from 'sinfonietta'
import { t } from 'tap'
import { createProfile, createQuery } from '#tests/support/create-profile.ts'
import { textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const byTrail = new URLSearchParams('view=trail')

/** The steps of a page, without their times. */
const stepsOf = (html: string) =>
  textOf(html.slice(html.indexOf('timed trail"')).split('</ol>', 1)[0] ?? '')
    .replaceAll(/^[^>]*>|\+?\d[\d.]* m?s/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

t.test('the page of an exception has what happened before it, in the order of time', async t => {
  let app: Application | undefined
  const run = (fails: boolean) => () => {
    app?.logger.info('Looking for {id}.', { id: 7 })
    app?.queries.measure('postgresql', 'SELECT a FROM b WHERE c = $1', [7], () => [1])
    app?.logger.warning('It has no address.')
    if (fails) throw new Error('It cannot be shown.')
    return Response.text('')
  }
  const kernel = await createProfiledKernel(t, {
    register: given => {
      app = given
    },
    handlers: { '/failing': run(true), '/well': run(false) },
  })
  const steps = /info Looking for 7\. database SELECT a FROM b WHERE c = \$1 \S+ warning It has no address\./
  const failed = await kernel.show('exception', await kernel.profileOf(await kernel.client.get('/failing')))
  t.match(failed, 'What happened before')
  t.match(stepsOf(failed), steps)
  t.notMatch(stepsOf(failed), /error/, 'the report of the exception comes later')
  t.match(failed, /href="[^"]*panel(?:=|&#x3D;)logger#log-\d"/, 'a step leads to its details')
  const well = await kernel.profileOf(await kernel.client.get('/well'))
  t.match(
    stepsOf(await kernel.show('time', { profile: well, query: byTrail })),
    steps,
    'Performance has them of each request',
  )
  const whole = await kernel.profileOf(await kernel.client.get('/failing'))
  const inOrder = stepsOf(await kernel.show('time', { profile: whole, query: byTrail }))
  t.match(inOrder, /warning It has no address\..* exception Error: It cannot be shown\..* Uncaught/, 'with the failure')
})

t.test('if it is not known when the exception was thrown, nothing is said to be before it', async t => {
  const { show } = await createProfiledKernel(t)
  const call = { method: 'GET', url: 'http://a/', start: 9, end: 12, status: 503 }
  const console = { entries: [{ at: 1000, method: 'error', values: [{ kind: 'text', text: 'lost' }] }], omitted: 0 }
  const queries = Array.from({ length: 25 }, (_, index) => createQuery({ start: 20 + index, end: undefined }))
  const exception = { exceptions: [{ name: 'E', message: 'no', frames: [] }], excerpts: [] }
  const data = { exception, http: { calls: [call], omitted: 0 }, console, queries: { queries, omitted: 0 } }
  const html = await show('exception', createProfile(data))
  t.match(html, 'What it did')
  t.match(html, '7 earlier steps')
  t.equal(stepsOf(html).match(/not finished/g)?.length, 20, 'the last ones')
  t.match(stepsOf(await show('time', { profile: createProfile(data), query: byTrail })), /^error lost http GET a\/ 503/)
  t.match(
    await show('time', { profile: createProfile(data) }),
    />failed<\/b> <a [^>]*>GET a\/<\/a> <small>503</,
    'a failed row of the timeline',
  )
  t.equal(stepsOf(await show('overview', createProfile(data))).match(/not finished/g)?.length, 8, 'fewer in Overview')
  t.notMatch(await show('exception', createProfile({ exception })), 'timed trail"')
  const known = await show('exception', createProfile({ ...data, exception: { ...exception, at: 30 } }))
  t.match(known, 'What happened before')
  t.equal(stepsOf(known).match(/not finished/g)?.length, 11, 'until it was thrown')
})

t.test('steps that are only counted are named', async t => {
  const { show } = await createProfiledKernel(t)
  const queries = { queries: [createQuery({ start: 1, end: 2 })], omitted: 4999 }
  const logger = { records: [{ at: 1, level: 'info', channel: 'app', message: 'a' }], dropped: 999 }
  const exception = { exceptions: [{ name: 'E', message: 'no', frames: [] }], excerpts: [] }
  const profile = createProfile({ exception, queries, logger }, { queries: 5000 })
  const said = 'Recorded in detail: 1 of 5,000 queries, 1 of 1,000 log messages'
  t.match(textOf(await show('time', { profile, query: byTrail })), said)
  t.match(textOf(await show('exception', profile)), said)
})

t.test(
  'Overview has the steps of work that went well: equal ones as one, and of many the failed and the longest',
  async t => {
    const { show } = await createProfiledKernel(t)
    const at = (start: number, end: number, text: string) => createQuery({ start, end, text })
    const loop = Array.from({ length: 9 }, (_, index) => at(10 + index, 11 + index, 'SELECT loop'))
    const others = Array.from({ length: 12 }, (_, index) =>
      at(30 + 2 * index, 31 + 2 * index + index / 100, `SELECT ${index}`),
    )
    const records = [
      { at: 1, level: 'debug', channel: 'app', message: 'Matched route.' },
      { at: 2, level: 'warning', channel: 'app', message: 'It is cold.' },
    ]
    const data = { queries: { queries: [...loop, ...others], omitted: 0 }, logger: { records, dropped: 0 } }
    const html = await show('overview', createProfile(data, { queries: 21, duration: 100 }))
    const steps = stepsOf(html)
    t.match(steps, /^warning It is cold\. database 9 × SELECT loop \S+ database SELECT 6 /)
    t.match(textOf(html), '+10 ms database 9 × SELECT loop products.ts:12 9.0 ms')
    t.match(textOf(html), 'What it did 6 other steps')
    t.notMatch(steps, 'SELECT 5')
    t.notMatch(steps, 'Matched', 'what is only for debugging is no step')
  },
)
