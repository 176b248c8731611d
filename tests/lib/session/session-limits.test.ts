import assert from 'node:assert/strict'
import fc from 'fast-check'
import { t } from 'tap'
import { defaultSessionLimits, divideSessions, type KeptSession, SweepSchedule } from '#lib/session/session-store.ts'

t.test('as few sessions as possible are removed, and those that expire first', async t => {
  const session = fc.record({ name: fc.uuid(), expiresAt: fc.nat(5), size: fc.nat(50) })
  const list = fc.uniqueArray(session, { selector: ({ name }) => name, maxLength: 12 })
  const property = fc.property(list, fc.nat(12), fc.nat(300), (sessions, count, bytes) => {
    const limits = { ...defaultSessionLimits, sessions: count, bytes }
    const { kept, excess } = divideSessions(sessions, limits)
    assert.deepEqual(
      { kept: namesOf(kept).sort(), excess: namesOf(excess).sort() },
      removeOneByOne(sessions, count, bytes),
    )
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }))
})

/** The slow and obvious way. */
function removeOneByOne(sessions: readonly KeptSession[], count: number, bytes: number) {
  const kept = [...sessions]
  const excess: KeptSession[] = []
  const sizeOf = () => kept.map(({ size }) => size).reduce((a, b) => a + b, 0)
  while (kept.length > count || sizeOf() > bytes) {
    const soonest = Math.min(...kept.map(({ expiresAt }) => expiresAt))
    const first = namesOf(kept.filter(({ expiresAt }) => expiresAt === soonest)).sort()[0]
    excess.push(
      ...kept.splice(
        kept.findIndex(({ name }) => name === first),
        1,
      ),
    )
  }
  return { kept: namesOf(kept).sort(), excess: namesOf(excess).sort() }
}

function namesOf(sessions: readonly KeptSession[]): string[] {
  return sessions.map(({ name }) => name)
}

const sessionOf = (size: number): KeptSession => ({ name: 'a', expiresAt: 0, size })

/** How many writes go by before a sweep is due. */
function countWrites(schedule: SweepSchedule, size: number): number {
  for (let count = 0; count < 1000; count++) if (schedule.claim(0, size)) return count
  throw new Error('no sweep is due')
}

t.test('a sweep is due when the store may be full, and not before a tenth of it was written', async t => {
  const schedule = new SweepSchedule({ sessions: 100, bytes: 1000, sessionBytes: 100 })
  t.equal(countWrites(schedule, 1), 0, 'at first')
  t.throws(() => countWrites(schedule, 1), { message: 'no sweep is due' }, 'one is under way')
  schedule.end()
  t.equal(countWrites(schedule, 1), 0, 'so much was written meanwhile')
  schedule.end([])
  t.equal(countWrites(schedule, 1), 100, 'an empty store takes a hundred')
  schedule.end(Array(60).fill(sessionOf(1)))
  t.equal(countWrites(schedule, 1), 40)
  schedule.end(Array(95).fill(sessionOf(1)))
  t.equal(countWrites(schedule, 1), 10)
  schedule.end([sessionOf(500)])
  t.equal(countWrites(schedule, 50), 10, 'by bytes')
  schedule.end([sessionOf(1000)])
  t.equal(countWrites(schedule, 50), 2)
  schedule.end()
  t.equal(countWrites(schedule, 1), 10, 'what a sweep that failed has left is not known')
})
