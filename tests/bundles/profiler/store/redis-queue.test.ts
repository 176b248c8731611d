import { t } from 'tap'
import type { WaitingProfile } from '#bundles/profiler/store/base-profile-storage.ts'
import { RedisQueue } from '#bundles/profiler/store/redis/redis-profile-storage.ts'
import { RedisError } from '#lib/redis/errors.ts'
import { createRecord } from '#tests/support/create-profile.ts'

const version = (token: string, length: number): WaitingProfile => ({
  ...createRecord({ token }),
  text: 'x'.repeat(length),
  facts: '',
})

/** A queue whose writes end as the test says: at once, or when it lets them. */
function createQueue() {
  const server = { error: undefined as Error | undefined, held: undefined as Promise<void> | undefined, writes: 0 }
  const queue = new RedisQueue({
    limit: 100,
    prepare: async () => undefined,
    write: async () => {
      server.writes++
      await server.held
      if (server.error !== undefined) throw server.error
    },
    onWritten: async () => undefined,
    onDrop: () => undefined,
  })
  /** Holds the next writes; the returned function lets them end. */
  const hold = () => {
    const { promise, resolve } = withResolvers()
    server.held = promise
    return () => {
      server.held = undefined
      resolve()
    }
  }
  return { queue, server, hold }
}

function withResolvers() {
  let resolve = () => {}
  const promise = new Promise<void>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

t.test('the length is that of the versions that wait or are written, and 0 when all is written', async t => {
  const { hold, queue, server } = createQueue()
  queue.add(version('a', 10))
  queue.add(version('a', 25))
  queue.add(version('b', 5))
  t.equal(queue.length, 30, 'a newer version takes the place of one that waits')
  await queue.flush()
  t.strictSame([queue.length, server.writes], [0, 2])

  const release = hold()
  queue.add(version('a', 10))
  const writing = queue.flush()
  while (server.writes === 2) await new Promise(setImmediate)
  queue.add(version('a', 30))
  t.equal(queue.length, 40, 'the older version is being written')
  release()
  await writing
  await queue.flush()
  t.equal(queue.length, 0)
})

t.test('the length does not drift by writes that fail, and by profiles that are forgotten', async t => {
  const { hold, queue, server } = createQueue()
  server.error = new RedisError('no answer')
  queue.add(version('a', 10))
  await queue.flush()
  t.equal(queue.length, 10, 'it is written again')
  server.error = new RedisError('refused', 'OOM')
  await queue.flush()
  t.strictSame([queue.length, queue.dropped], [0, 1])

  server.error = new RedisError('no answer')
  const release = hold()
  const { writes } = server
  queue.add(version('a', 10))
  queue.add(version('b', 20))
  const failing = queue.flush()
  while (server.writes === writes) await new Promise(setImmediate)
  queue.add(version('a', 7))
  release()
  await failing
  t.equal(queue.length, 27, 'of the first profile only the newest version is left')
  server.error = undefined
  await queue.flush()
  t.equal(queue.length, 0)

  const releaseLast = hold()
  queue.add(version('a', 10))
  const last = queue.flush()
  while (server.writes === writes + 4) await new Promise(setImmediate)
  queue.clear()
  t.equal(queue.length, 0)
  queue.add(version('c', 3))
  releaseLast()
  await last
  await queue.flush()
  t.equal(queue.length, 0)
  t.ok(queue.add(version('d', 100)), 'the whole limit is free')
  t.notOk(queue.add(version('e', 1)))
  queue.end()
  t.equal(queue.length, 0)
})
