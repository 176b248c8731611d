import { createHash } from 'node:crypto'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { findPort } from '#tests/support/find-port.ts'
import { never, startProxy } from '#tests/support/start-proxy.ts'
import { lacksRedis, openRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const cartBundle: Bundle = {
  name: 'cart',
  register({ routes }) {
    routes.get('plain', '/', () => new Response('Hello.'))
    routes.get('cart', '/cart', async ({ session }) => new Response(String(await session.get('items'))))
    routes.get('add', '/add', async ({ session }) => {
      const items = Number((await session.get('items')) ?? 0) + 1
      await session.set('items', items)
      return new Response(String(items))
    })
    routes.get('end', '/end', async ({ session }) => {
      await session.invalidate()
      return new Response('ended')
    })
  },
}

const outage = 'Sessions are not available until the Redis of SESSION_URL answers again.'
const recovery = 'Redis answers again: sessions are available.'

/** An application with its sessions at a Redis. */
class Shop {
  readonly client: TestKernel['client']
  readonly #kernel: TestKernel

  private constructor(kernel: TestKernel) {
    this.#kernel = kernel
    this.client = kernel.client
  }

  static async open(t: Test, port: number, password = ''): Promise<Shop> {
    const variables = { APP_ENV: 'prod', SESSION_URL: `redis://${password && `:${password}@`}127.0.0.1:${port}` }
    const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), cartBundle], variables })
    t.teardown(() => kernel.close())
    return new Shop(kernel)
  }

  createClient(): TestKernel['client'] {
    return this.#kernel.createClient()
  }

  /** The status, and the text of a response that is none of an error. */
  async ask(path: string, client = this.client): Promise<string> {
    const { status, text } = await client.get(path)
    return status === 200 ? text : `${status}`
  }

  /** What is logged of outages; every failed request is logged, too. */
  get messages(): string[] {
    return this.#kernel.records.map(({ message }) => message).filter(message => /Redis/.test(message))
  }

  /** The codes of the errors of requests, each once. */
  get errors(): string[] {
    const exceptions = this.#kernel.records.map(({ channel, context }) => channel === 'request' && context.exception)
    return [...new Set(exceptions.map(error => (error as { code?: string })?.code ?? '').filter(Boolean))]
  }

  get log(): string {
    return JSON.stringify(this.#kernel.records)
  }
}

/** The median of some times. */
function medianOf(times: readonly { readonly time: number }[]): number {
  return Number(times.map(({ time }) => time).toSorted((one, other) => one - other)[times.length >> 1])
}

t.test('sessions and faults of a Redis', { skip: lacksRedis }, async t => {
  t.test('it is not there at the start, and comes later', async t => {
    const port = await findPort()
    const shop = await Shop.open(t, port)
    for (let count = 0; count < 3; count++) t.equal(await shop.ask('/add'), '503')
    t.equal(await shop.ask('/'), 'Hello.', 'a request without a session')
    await startRedis(t, { port })
    await until(async () => (await shop.ask('/add')) === '1')
    t.strictSame(shop.messages, [outage, recovery])
    t.strictSame(shop.errors, ['SESSION_STORE_UNREACHABLE'])
  })

  t.test('it has another password', async t => {
    const server = await startRedis(t, { args: ['--requirepass', 'the-right-password'] })
    const shop = await Shop.open(t, server.port, 'a-wrong-password')
    for (let count = 0; count < 3; count++) t.equal(await shop.ask('/add'), '503')
    t.strictSame(shop.messages, [outage])
    t.match(shop.log, /WRONGPASS/)
    const client = openRedis(t, { ...server, password: 'the-right-password' })
    await client.config('SET', 'requirepass', 'a-wrong-password')
    await until(async () => (await shop.ask('/add')) === '1')
    t.strictSame(shop.messages, [outage, recovery])
    t.notMatch(shop.log, 'a-wrong-password')
  })

  t.test('another application uses the key of a session', async t => {
    const server = await startRedis(t)
    const shop = await Shop.open(t, server.port)
    const other = shop.createClient()
    t.strictSame([await shop.ask('/add'), await shop.ask('/add', other)], ['1', '1'])
    const id = String(shop.client.cookies.get('session'))
    const key = `sinfonietta:sessions:s:${createHash('sha256').update(id).digest('hex')}`
    const client = openRedis(t, server)
    t.equal(await client.del(key), 1)
    await client.rpush(key, 'a list')
    t.equal(await shop.ask('/add'), '500')
    t.match(shop.log, /WRONGTYPE/)
    t.equal(await shop.ask('/add', other), '2', 'other sessions are not concerned')
    await client.del(key)
    t.equal(await shop.ask('/add'), '1')
    t.strictSame([shop.errors, shop.messages], [['SESSION_STORE_FAILED'], []])
  })

  t.test('it stops under load: each request is answered, and no queue grows', async t => {
    const server = await startRedis(t)
    const shop = await Shop.open(t, server.port)
    const clients = Array.from({ length: 20 }, () => shop.createClient())
    const stored = new Map(clients.map(client => [client, 0]))
    const times: { readonly begin: number; readonly time: number; readonly answer: string }[] = []
    let isOver = false
    const start = performance.now()
    const load = clients.map(async client => {
      while (!isOver) {
        const begin = performance.now()
        const answer = await shop.ask('/add', client)
        times.push({ begin: begin - start, time: performance.now() - begin, answer })
        if (answer !== '503') stored.set(client, Number(answer))
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    })
    await until(() => times.length > 100)
    t.strictSame(shop.errors, [])
    // A busy machine is as slow with a Redis that answers.
    const before = medianOf(times)
    server.process.kill('SIGSTOP')
    const stopped = performance.now() - start
    const late = () => times.filter(({ begin }) => begin > stopped + 2000)
    await until(() => late().length > 5 * clients.length)
    const answers = late()
    server.process.kill('SIGCONT')
    await until(() => times.at(-1)?.answer !== '503')
    isOver = true
    await Promise.all(load)
    t.ok(
      times.every(({ time }) => time < 3000 + 10 * before),
      'no request waits longer than for one command',
    )
    t.ok(answers.every(({ answer }) => answer === '503'))
    const after = medianOf(answers)
    t.ok(after < 500 + before, `then at once: in ${after} ms, not longer than before, in ${before} ms`)
    t.strictSame(shop.messages, [outage, recovery])
    t.strictSame(shop.errors, ['SESSION_STORE_UNREACHABLE'])
    for (const [client, items] of stored) {
      const now = Number(await shop.ask('/cart', client))
      // A change without an answer may have been made.
      t.ok(now === items || now === items + 1, `${items} are stored, ${now} are read`)
    }
  })

  t.test('it is restarted empty', async t => {
    const server = await startRedis(t)
    const shop = await Shop.open(t, server.port)
    t.strictSame([await shop.ask('/add'), await shop.ask('/add')], ['1', '2'])
    const id = shop.client.cookies.get('session')
    server.process.kill('SIGKILL')
    await until(async () => (await shop.ask('/cart')) === '503')
    await startRedis(t, { port: server.port })
    await until(async () => (await shop.ask('/add')) === '1')
    t.not(shop.client.cookies.get('session'), id, 'the id is never adopted')
    t.strictSame(shop.messages, [outage, recovery])
  })

  t.test('it is slow, then silent', async t => {
    const server = await startRedis(t)
    const proxy = await startProxy(t, server.port)
    const shop = await Shop.open(t, proxy.port)
    t.equal(await shop.ask('/add'), '1')
    proxy.target.delay = 100
    t.equal(await shop.ask('/add'), '2')
    t.strictSame(shop.messages, [])
    proxy.target.delay = never
    t.equal(await shop.ask('/add'), '503')
    await until(() => shop.messages.length > 0)
    proxy.target.delay = 0
    await until(async () => (await shop.ask('/cart')) === '2')
    t.strictSame(shop.messages, [outage, recovery])
  })

  t.test('it is full: sessions are read, and a logout succeeds', async t => {
    const server = await startRedis(t, { args: ['--maxmemory-policy', 'noeviction'] })
    const shop = await Shop.open(t, server.port)
    const [reading, leaving] = [shop.createClient(), shop.createClient()]
    t.strictSame([await shop.ask('/add', reading), await shop.ask('/add', leaving)], ['1', '1'])
    const cookie = leaving.cookies.get('session')
    const client = openRedis(t, server)
    await client.config('SET', 'maxmemory', '1')
    t.equal(await shop.ask('/add'), '500', 'a new session')
    t.equal(await shop.ask('/add', reading), '500', 'a changed session')
    t.equal(await shop.ask('/cart', reading), '1')
    t.equal(await shop.ask('/end', leaving), 'ended')
    leaving.cookies.set('session', String(cookie))
    t.equal(await shop.ask('/cart', leaving), 'undefined')
    t.match(shop.log, /OOM/)
    await client.config('SET', 'maxmemory', '100mb')
    t.strictSame([await shop.ask('/add'), await shop.ask('/add', reading)], ['1', '2'])
    t.strictSame([shop.errors, shop.messages], [['SESSION_STORE_FAILED'], []])
  })

  t.test('a replica takes over, and the address names it later', async t => {
    const args = ['--repl-diskless-sync-delay', '0']
    const [first, second] = [await startRedis(t, { args }), await startRedis(t, { args })]
    const [one, other] = [openRedis(t, first), openRedis(t, second)]
    const proxy = await startProxy(t, first.port)
    const shop = await Shop.open(t, proxy.port)
    t.equal(await shop.ask('/add'), '1')
    await other.replicaof(first.host, first.port)
    await until(async () => /master_link_status:up/.test(await other.info('replication')))
    t.equal(await shop.ask('/add'), '2')
    await until(async () => (await other.dbsize()) === (await one.dbsize()))
    t.equal(await one.wait(1, 5000), 1)
    await other.replicaof('NO', 'ONE')
    await one.replicaof(second.host, second.port)
    for (let count = 0; count < 50; count++) t.equal(await shop.ask('/add'), '503')
    t.strictSame(shop.messages, [outage], 'it is logged once, and a new connection to the replica is no recovery')
    t.match(shop.log, /READONLY/)
    proxy.target.port = second.port
    await until(async () => (await shop.ask('/add')) === '3')
    t.strictSame([shop.messages, shop.errors], [[outage, recovery], ['SESSION_STORE_UNREACHABLE']])
  })
})
