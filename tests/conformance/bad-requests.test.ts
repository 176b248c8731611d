import fc from 'fast-check'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import {
  type BadRequest,
  badRequestDifferences,
  badRequests as cases,
  findComplaints,
  recordedBadRequests,
  toSending,
} from '#tests/support/bad-requests.ts'
import { exchange, type Sending } from '#tests/support/exchange.ts'
import { findUndecided, hashFile } from '#tests/support/recorded.ts'
import { provenRuns, provenSample, seed } from '#tests/support/sample.ts'
import { startServer } from '#tests/support/test-server.ts'

/** Most of them wait: for the end of a silence, or of a connection. */
const parallel = 24
const shortEnough = 400

const good = Buffer.from('GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')

/** Does a task for each item, several at once. */
async function forEach<item>(items: readonly item[], task: (item: item) => Promise<void>): Promise<void> {
  const queue = items.values()
  const work = async () => {
    for (const item of queue) await task(item)
  }
  await Promise.all(Array.from({ length: parallel }, work))
}

async function serve(t: Test, environment: 'dev' | 'prod'): Promise<number> {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { port } = await startServer(t, { APP_ENV: environment }, environment === 'dev' ? [profiler] : [])
  return port
}

t.test('recorded bad requests are facts: what differs is listed with its decision, and does differ', async t => {
  const hash = '911a499d59c167b9b4ef4583275d7f7ce11b475ea9c480ddf3f7a0a7e0d144a1'
  t.equal(hashFile('tests/conformance/bad-requests.json'), hash, 'the recorded file was edited')
  t.strictSame(findUndecided(badRequestDifferences), [], 'a difference needs a decision')
  const port = await serve(t, 'prod')
  const asRecorded: string[] = []
  await forEach(badRequestDifferences, async ({ id }) => {
    const one = recordedBadRequests.find(one => one.id === id)
    if (one === undefined || (await findComplaints(port, one)).length === 0) asRecorded.push(id)
  })
  t.strictSame(asRecorded, [], 'listed as different, but answered as recorded')
})

for (const environment of ['dev', 'prod'] as const) {
  t.test(`${environment}: bad requests are answered as they must be, and good ones after each`, async t => {
    const port = await serve(t, environment)
    t.ok(cases.length > 300, 'there are some')
    const chosen = environment === 'prod' ? cases : provenSample(cases, 60)
    const offenders: string[] = []
    const run = async (one: BadRequest, sending: Sending) => {
      offenders.push(...(await findComplaints(port, one, sending)).map(complaint => `${one.id}: ${complaint}`))
      const { statuses } = await exchange(port, { bytes: good }, 10)
      if (statuses.join() !== '200') offenders.push(`${one.id}: then ${statuses} for a good request`)
    }
    await forEach(chosen, one => run(one, toSending(one)))
    t.strictSame(offenders.splice(0), [], 'sent whole')
    const short = cases.filter(one => one.splitEvery === undefined && toSending(one).bytes.length < shortEnough)
    t.ok(short.length > 200, 'many are short')
    await forEach(provenSample(short, 40), one => run(one, { ...toSending(one), pieceLength: 1 }))
    t.strictSame(offenders, [], 'sent byte by byte')
  })
}

t.test('whatever is made of bad requests is answered with a status or closed, and good ones are served', async t => {
  const port = await serve(t, 'prod')
  const seeds = cases.map(one => toSending(one).bytes).filter(({ length }) => length > 0 && length < 2000)
  const mutation = fc.record({
    seed: fc.constantFrom(...seeds),
    other: fc.constantFrom(...seeds),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom('cut', 'insert', 'replace', 'repeat', 'append'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  })
  const property = fc.asyncProperty(fc.array(mutation, { minLength: 8, maxLength: 8 }), async mutations => {
    const received = await Promise.all(mutations.map(one => exchange(port, { bytes: mutate(one), ending: 'close' })))
    for (const { statuses } of received) {
      for (const status of statuses) if (status !== 100 && (status < 200 || status > 599)) return false
    }
    const { statuses } = await exchange(port, { bytes: good }, 10)
    return statuses[0] === 200
  })
  await fc.assert(property, { seed, numRuns: provenRuns(60) })
  t.pass(`nothing has broken it (FUZZ_SEED=${seed})`)
})

interface Mutation {
  readonly seed: Buffer
  readonly other: Buffer
  /** Where, as a share of the length. */
  readonly at: number
  readonly kind: 'cut' | 'insert' | 'replace' | 'repeat' | 'append'
  readonly bytes: Uint8Array
}

function mutate({ at, bytes, kind, other, seed }: Mutation): Buffer {
  const place = Math.floor(at * seed.length)
  const [before, after] = [seed.subarray(0, place), seed.subarray(place)]
  switch (kind) {
    case 'cut':
      return before
    case 'insert':
      return Buffer.concat([before, bytes, after])
    case 'replace':
      return Buffer.concat([before, bytes, after.subarray(bytes.length)])
    case 'repeat':
      return Buffer.concat([before, after, after])
    case 'append':
      return Buffer.concat([seed, other])
  }
}
