import { type Bundle, createFrameworkBundle, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { PageCacheListener } from '#bundles/page-cache/page-cache-listener.ts'
import { MemoryPageStore } from '#bundles/page-cache/page-store.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

const _cache = { sMaxAge: 60, staleWhileRevalidate: 30 }

/** The page cache with a clock of the test. */
function createClock() {
  let time = Date.now()
  const now = () => time
  const bundle: Bundle = {
    name: 'page-cache',
    register({ dispatcher, logger }) {
      new PageCacheListener({ store: new MemoryPageStore(1_000_000, now), logger, now }).subscribe(dispatcher)
    },
  }
  return { bundle, pass: (seconds: number) => (time += seconds * 1000) }
}

t.test('a page past its lifetime is sent while one request makes a new one', async t => {
  const { bundle, pass } = createClock()
  let calls = 0
  let fails = false
  const waiting: (() => void)[] = []
  const { client, close, records } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      bundle,
      {
        name: 'shop',
        register({ routes }) {
          const controller = async () => {
            const call = ++calls
            if (call > 1) await new Promise<void>(resolve => waiting.push(resolve))
            if (fails) throw new Error('failed')
            return Response.text(`call ${call}`)
          }
          routes.add({ name: 'page', path: '/page', defaults: { _cache }, controller })
        },
      },
    ],
  })
  t.teardown(close)
  const get = async () => {
    const { headers, text } = await client.get('/page')
    return `${text} ${headers.get('age')}`
  }
  const goOn = () => until(() => waiting.splice(0).map(resolve => resolve()).length > 0)
  t.equal(await get(), 'call 1 null')
  pass(59)
  t.equal(await get(), 'call 1 59')
  pass(1)
  const asked = Array.from({ length: 300 }, get)
  await goOn()
  t.strictSame(new Set(await Promise.all(asked)), new Set(['call 1 60']))
  t.equal(calls, 2, 'one of 300 requests makes it')
  await until(async () => (await get()) === 'call 2 0')

  pass(70)
  fails = true
  const failing = get()
  await goOn()
  t.equal(await failing, 'call 2 70')
  await until(() => records.some(({ message }) => message.includes('could not be made again')))
  fails = false
  const again = get()
  await goOn()
  t.equal(await again, 'call 2 70', 'a failure keeps the page until its end')
  await until(async () => (await get()) === 'call 4 0')

  pass(91)
  const late = get()
  await goOn()
  t.equal(await late, 'call 5 null', 'after that it is not sent')
})

t.test('the age of a page begins when it is complete, or with that of another cache', async t => {
  const { bundle, pass } = createClock()
  const { client, close } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      bundle,
      {
        name: 'shop',
        register({ routes }) {
          const slow = () => {
            pass(5)
            return Response.text('page')
          }
          const passedOn = () => Response.text('page', { headers: { age: '40' } })
          routes.add({ name: 'slow', path: '/slow', defaults: { _cache }, controller: slow })
          routes.add({ name: 'passed_on', path: '/passed-on', defaults: { _cache }, controller: passedOn })
        },
      },
    ],
  })
  t.teardown(close)
  const ageOf = async (path: string) => (await client.get(path)).headers.get('age')
  await ageOf('/slow')
  t.equal(await ageOf('/slow'), '0')
  t.equal(await ageOf('/passed-on'), '40')
  pass(15)
  t.strictSame([await ageOf('/slow'), await ageOf('/passed-on')], ['15', '55'])
  pass(6)
  t.strictSame([await ageOf('/slow'), await ageOf('/passed-on')], ['21', '61'], 'past its lifetime of a minute')
})

t.test('the profile says that the page cache has answered, and when the page was stored', async t => {
  const { bundle, pass } = createClock()
  const { client, profileOf, show } = await createProfiledKernel(t, {
    bundles: [bundle],
    register({ routes }) {
      const controller = () => Response.html('<p>page')
      routes.add({ name: 'cached', path: '/cached', defaults: { _cache }, controller })
    },
  })
  const look = async () => {
    const profile = await profileOf(await client.get('/cached'))
    const overview = toText(await show('overview', profile)).match(/(?:took|was answered).*? in [\d.]+ .?s|took/)?.[0]
    const routing = toText(await show('router', profile)).match(/Answered by the page cache (.*?) Cache policy/)?.[1]
    return [overview?.replace(/[\d.]+ .?s$/, '…'), routing]
  }
  t.strictSame(await look(), ['took', undefined])
  pass(12)
  t.strictSame(await look(), ['was answered by the page cache (stored 12 s ago) in …', 'stored 12 s ago'])
  pass(60)
  const stale = 'stored 72 s ago, past its lifetime'
  t.strictSame(await look(), [`was answered by the page cache (${stale}) in …`, stale])
})
