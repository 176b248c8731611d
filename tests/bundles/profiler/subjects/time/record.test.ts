import type { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { profilePage } from '#tests/support/profiled-kernel.ts'

/** The measured times of a request that does this. */
async function timesOf(t: Test, measure: (request: Request) => unknown) {
  const handler = async (request: Request) => {
    await measure(request)
    return new Response('done')
  }
  const variables = { API_KEY: 'a-long-api-key' }
  const { profile } = await profilePage(t, handler, { variables })
  return profile.collectors.time
}

t.test('an unused stopwatch is not created, and records nothing', async t => {
  const requests: Request[] = []
  t.equal(await timesOf(t, request => requests.push(request)), undefined)
  t.equal(requests[0]?.requestedStopwatch, undefined)
})

t.test('times are whole microseconds since the trace began', async t => {
  const times = await timesOf(t, async ({ stopwatch }) => {
    await new Promise(resolve => setTimeout(resolve, 5))
    stopwatch.start('work', 'batch')
    await new Promise(resolve => setTimeout(resolve, 5))
    stopwatch.stop('work')
  })
  const { measured = [] } = times ?? {}
  t.match(measured, [{ name: 'work', category: 'batch', periods: [[Number, Number]], dropped: 0, isRunning: false }])
  const [start, duration] = measured[0]?.periods[0] ?? [0, 0]
  t.ok(Number.isInteger(start) && start > 3000)
  t.ok(duration > 3000)
  t.equal(measured[0]?.duration, duration)
})

t.test('names and periods beyond the limits are counted; long names and secrets are not kept', async t => {
  const data = await timesOf(t, ({ stopwatch }) => {
    for (let started = 0; started < 60; started++) stopwatch.start('a-long-api-key')()
    for (let named = 0; named < 210; named++) stopwatch.start(`${named} ${'x'.repeat(500)}`)
  })
  t.hasStrict(data, { dropped: 11, measured: [{ name: '******', dropped: 10 }, { isRunning: true }] })
  t.equal(data?.measured.length, 200)
  t.equal(data?.measured[0]?.periods.length, 50)
  t.equal(data?.measured[1]?.name.length, 200)
})
