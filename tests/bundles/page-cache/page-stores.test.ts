import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { createFrameworkBundle, createPageCache, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { FilePageStore } from '#bundles/page-cache/file-page-store.ts'
import { fromBytes, MemoryPageStore, type PageStore, type StoredPage, toBytes } from '#bundles/page-cache/page-store.ts'
import { RedisPageStore } from '#bundles/page-cache/redis-page-store.ts'
import { silentLogger } from '#kernel/testing/event-factories.ts'
import { startFakeRedis } from '#tests/support/fake-redis.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const minute = 60_000

function createPage(changes: Partial<StoredPage> = {}): StoredPage {
  const now = Date.now()
  return {
    status: 200,
    headers: [['content-type', 'text/html']],
    body: '<p>\u00e4\n\u2028',
    createdAt: now,
    storedAt: now,
    freshUntil: now + minute,
    staleUntil: now + 2 * minute,
    vary: ['accept'],
    variant: 'v',
    tags: ['*', 'events', 'a:b c'],
    ...changes,
  }
}

const stores: Record<string, { create: (t: Test) => Promise<PageStore>; skip?: string | false }> = {
  memory: { create: async () => new MemoryPageStore(1_000_000) },
  files: { create: async t => new FilePageStore(path.join(t.testdir(), 'pages'), 1_000_000) },
  redis: {
    skip: lacksRedis,
    create: async t => {
      const { host, port } = await startRedis(t)
      const store = new RedisPageStore(`redis://${host}:${port}`, silentLogger)
      t.teardown(() => store.close())
      return store
    },
  },
}

for (const [name, { create, skip = false }] of Object.entries(stores)) {
  t.test(`${name}: a page is read as it was written, until it ends or a tag of it is purged`, { skip }, async t => {
    const store = await create(t)
    t.equal(await store.read('a'), undefined)
    const bytes = Uint8Array.from([0, 10, 255, 13])
    for (const page of [createPage(), createPage({ body: null, tags: ['*'] }), createPage({ body: bytes })]) {
      await store.write('a', page)
      const read = await store.read('a')
      t.strictSame({ ...read, body: null }, { ...page, body: null })
      const isBytes = page.body instanceof Uint8Array
      t.strictSame(isBytes ? [...((read?.body ?? []) as Uint8Array)] : read?.body, isBytes ? [...bytes] : page.body)
    }
    await store.write('b', createPage({ tags: ['*', 'other'] }))
    await store.purge(['nothing'])
    t.ok((await store.read('a')) && (await store.read('b')))
    await store.purge(['a:b c', 'nothing'])
    t.equal(await store.read('a'), undefined)
    t.ok(await store.read('b'), 'a page without the tag stays')
    await store.write('a', createPage({ createdAt: Date.now() - 1000 }))
    t.equal(await store.read('a'), undefined, 'a page that was begun before is not stored')
    await store.write('a', createPage({ createdAt: Date.now() + 1000 }))
    t.ok(await store.read('a'), 'a later one is')
    await store.purge(['*'])
    t.equal(await store.read('b'), undefined)
    const now = Date.now()
    await store.write('c', createPage({ createdAt: now + 1000, freshUntil: now - 2, staleUntil: now - 1 }))
    await until(async () => (await store.read('c')) === undefined)
  })
}

t.test('memory has a limit of bytes: what was not read for the longest time goes first', t => {
  const store = new MemoryPageStore(40_000)
  const page = createPage({ body: 'x'.repeat(4000) })
  for (const key of 'abcdefgh') store.write(key, page)
  t.ok(store.size <= 40_000 && store.size > 35_000)
  store.read('a')
  store.write('i', page)
  store.write('j', page)
  t.strictSame(
    [...'abcdefghij'].filter(key => store.read(key) === undefined),
    ['b', 'c'],
  )
  store.write('k', createPage({ body: 'x'.repeat(6000) }))
  t.equal(store.read('k'), undefined, 'one page has an eighth at most')
  store.purge(['*'])
  t.equal(store.size, 0)
  const old = createPage()
  store.purge(Array.from({ length: 10_001 }, (_, index) => `tag ${index}`))
  store.write('a', createPage({ createdAt: old.createdAt - 1, tags: ['unknown'] }))
  t.equal(store.read('a'), undefined, 'a purge that is forgotten counts for all tags')
  t.end()
})

t.test('files have a limit of bytes, and damaged ones are no pages', async t => {
  const directory = path.join(t.testdir(), 'pages')
  const store = new FilePageStore(directory, 40_000)
  for (const key of 'abcdefghijklmnop') await store.write(key, createPage({ body: 'x'.repeat(4000) }))
  await store.close()
  await store.sweep()
  const left = readdirSync(directory)
  t.ok(left.length < 10 && left.length > 5, `${left.length} files`)
  t.ok(await store.read('p'), 'the newest stay')
})

t.test('a link or a pipe is no page, and others are read beside it', async t => {
  const directory = path.join(t.testdir(), 'pages')
  const store = new FilePageStore(directory, 1_000_000)
  await store.write('page', createPage())
  symlinkSync('page', path.join(directory, 'link'))
  symlinkSync('loop', path.join(directory, 'loop'))
  mkdirSync(path.join(directory, 'folder'))
  // More than Node has threads for files.
  const pipes = Array.from({ length: 5 }, (_, index) => `pipe-${index}`)
  for (const pipe of pipes) execFileSync('mkfifo', [path.join(directory, pipe)])
  const read = await Promise.all(['link', 'loop', 'folder', ...pipes, 'missing'].map(key => store.read(key)))
  t.strictSame(
    read.filter(page => page !== undefined),
    [],
  )
  t.ok(await store.read('page'))
})

t.test('only bytes that were written as a page are one', t => {
  const bytes = toBytes(createPage())
  const ends = Array.from({ length: bytes.length }, (_, length) => bytes.subarray(0, length))
  const changed = Array.from({ length: bytes.length }, (_, at) =>
    Buffer.from(bytes).fill(Number(bytes[at]) ^ 1, at, at + 1),
  )
  const others = ['null', '{}\n', '\n', bytes.subarray(32), bytes.subarray(5)].map(text => Buffer.from(text))
  const longer = Buffer.concat([bytes, Buffer.from('more')])
  t.ok(fromBytes(bytes))
  t.strictSame(
    [...ends, ...changed, ...others, longer].filter(each => fromBytes(each) !== undefined),
    [],
  )
  t.end()
})

t.test('an outage of Redis and its end are logged', async t => {
  const fake = await startFakeRedis(t)
  const { logger, records } = createRecorder()
  const store = new RedisPageStore(fake.url, logger)
  t.teardown(() => store.close())
  const messages = () => records.map(({ level, message }) => `${level} ${message}`)
  const outage = 'warning Pages are not cached until the Redis of PAGE_CACHE answers again.'
  const read = () => store.read('p').catch(() => undefined)
  await read()
  await fake.shut()
  fake.disconnect()
  await until(async () => {
    await read()
    return messages().length > 0
  })
  await fake.open()
  await until(async () => {
    await read()
    return messages().length > 1
  })
  t.strictSame(messages(), [outage, 'info Redis answers again: pages are cached.'])
})

t.test('a store that fails does not fail the pages', async t => {
  const { logger, records } = createRecorder()
  const store = new RedisPageStore('redis://127.0.0.1:1', logger)
  t.teardown(() => store.close())
  const pages = createPageCache()
  const kernel = await createTestKernel({
    variables: { PAGE_CACHE: 'redis://127.0.0.1:1' },
    bundles: [
      createFrameworkBundle(),
      pages,
      {
        name: 'shop',
        register({ routes }) {
          const controller = () => Response.text('page')
          routes.add({ name: 'page', path: '/page', defaults: { _cache: { sMaxAge: 60 } }, controller })
        },
      },
    ],
  })
  t.teardown(kernel.close)
  t.equal((await kernel.client.get('/page')).text, 'page')
  t.equal((await kernel.client.get('/page')).status, 200)
  await t.rejects(pages.purge('events'), { message: /Redis/ }, 'but a purge says so')
  t.strictSame(records, [])
  const failures = kernel.records.filter(({ channel }) => channel === 'page-cache')
  t.strictSame(
    failures.map(({ level, message }) => `${level} ${message}`),
    ['warning The page cache could not read.'],
    'it is logged once',
  )
})

t.test('the place of pages is a setting', async t => {
  const directory = t.testdir()
  const start = (place: string) =>
    createTestKernel({
      directory,
      variables: { PAGE_CACHE: place },
      bundles: [
        createFrameworkBundle(),
        createPageCache(),
        {
          name: 'shop',
          register({ routes }) {
            const controller = () => Response.text('page')
            routes.add({ name: 'page', path: '/page', defaults: { _cache: { sMaxAge: 60 } }, controller })
          },
        },
      ],
    })
  const [one, other] = [await start('files'), await start('files')]
  t.teardown(one.close)
  t.teardown(other.close)
  await one.client.get('/page')
  t.equal((await other.client.get('/page')).headers.get('age'), '0', 'two processes have the same files')
  t.equal(readdirSync(path.join(directory, 'var/pages')).length, 1)
  one.app.signals.emit('server.listening', { url: '', worker: 1 })
  await until(async () => (await other.client.get('/page')).headers.get('age') === null)
  const memory = await start('memory')
  t.teardown(memory.close)
  for (const worker of [1, 2, 3]) memory.app.signals.emit('server.listening', { url: '', worker })
  t.match(
    memory.records.filter(({ level }) => level === 'warning').map(({ message }) => message),
    [/^Each worker has stored pages of its own, .* set PAGE_CACHE=files/],
  )
  await t.rejects(start('disk'), { message: /PAGE_CACHE.*memory, files, or a URL such as redis/ })
})
