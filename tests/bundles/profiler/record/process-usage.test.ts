import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { readProcessUsage, sharedLifetime } from '#bundles/profiler/subjects/memory/record.ts'

/** Returns readings, with the given number in each millisecond. */
async function want(rate: number, milliseconds: number): Promise<ReturnType<typeof readProcessUsage>[]> {
  const readings = []
  const begin = performance.now()
  for (let passed = 0; passed < milliseconds; passed = performance.now() - begin) {
    if (readings.length < passed * rate) readings.push(readProcessUsage(0))
    else await sleep(1)
  }
  return readings
}

t.test('a rare caller gets a current reading; under load, callers share a reading', async t => {
  await want(0.05, 250)
  const seldom = await want(0.05, 200)
  t.equal(new Set(seldom).size, seldom.length)

  await want(5, 250)
  const often = await want(5, 200)
  t.ok(new Set(often).size <= often.length / 2, `${new Set(often).size} readings for ${often.length}`)
  t.ok(performance.now() - readProcessUsage(0).readAt <= sharedLifetime + 1)

  await want(0.05, 250)
  const again = await want(0.05, 200)
  t.equal(new Set(again).size, again.length)
})
