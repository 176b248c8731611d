import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createPool, type RowDataPacket } from 'mysql2/promise'
import type { Request } from 'sinfonietta'
import { t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

const off = { headers: { 'x-profiler': 'off' } }

t.test('a page with N+1 shows it everywhere, and its correction', { skip: lacksMariadb || lacksRedis }, async t => {
  const [database, cache] = await Promise.all([startMariadb(t), startRedis(t)])
  const pool = createPool({ ...database, connectionLimit: 2 })
  const redis = new Redis(cache)
  t.teardown(async () => {
    redis.disconnect()
    await pool.end()
  })
  await pool.query('CREATE TABLE posts (id INT PRIMARY KEY, author INT)')
  await pool.query('CREATE TABLE authors (id INT PRIMARY KEY, name VARCHAR(20))')
  const numbers = Array.from({ length: 50 }, (_, index) => index + 1)
  await pool.query('INSERT INTO posts VALUES ?', [numbers.map(id => [id, id])])
  await pool.query('INSERT INTO authors VALUES ?', [numbers.map(id => [id, `author ${id}`])])

  const { client, expectProfile, profileOf, storage } = await createProfiledKernel(t, {
    handlers: {
      '/blog': async ({ query }) => {
        await redis.get('blog:header')
        const [posts] = await pool.query<RowDataPacket[]>('SELECT id, author FROM posts')
        const ids = posts.map(({ author }) => author)
        if (query.has('fixed')) await pool.query('SELECT name FROM authors WHERE id IN (?)', [ids])
        else for (const id of ids) await pool.execute('SELECT name FROM authors WHERE id = ?', [id])
        return Response.html('<body>blog</body>')
      },
    },
  })
  const slow = await client.get('/blog')
  const fixed = await client.get('/blog?fixed')
  t.match(slow.headers.get('server-timing'), 'db;desc="51 queries";dur=')
  const before = await profileOf(slow)
  const after = await profileOf(fixed)

  // On a busy machine, any single query may be slow.
  const find = (profile: Profile) =>
    findFindings(profile).filter(({ place, rule }) => place?.panel === 'database' && rule !== 'slow-query')
  const [finding, ...others] = find(before)
  t.strictSame(others, [], 'one cause has one finding')
  t.match(finding, {
    rule: 'repeated-queries',
    values: { statement: 'SELECT name FROM authors WHERE id = ?' },
    evidence: { count: 50 },
    code: { file: /n-plus-one\.test\.[jt]s$/, line: Number },
  })
  t.strictSame(find(after), [])

  const token = before.summary.token
  const open = async (path: string) => plainEquals((await client.get(path, off)).text)
  t.match(await open('/_profiler/empty/search/results?queries=50..'), '<td class="queries">51 ')
  const toolbar = textOf(await open(`/_wdt/${token}`))
  t.match(toolbar, /Database 51 queries, [\d.]+ m?s .*50 × SELECT name FROM authors WHERE id = \? .*Cache 1 cache call/)
  const panel = await open(`/_profiler/${token}?panel=${finding?.place?.panel}`)
  t.match(panel, `id="${finding?.place?.anchor}"`, 'the finding links to the row of the panel')
  const comparison = textOf(await open(`/_profiler/compare?a=${token}&b=${after.summary.token}`))
  t.match(comparison, 'queries (51 → 2)')
  t.match(comparison, /SELECT name FROM authors WHERE id = \? only in A mysql n-plus-one\.test\.[jt]s:\d+ 50 queries/)

  const page = await expectProfile(fixed)
  page.ran(2).ran({ text: 'authors', atMost: 1 }).ran({ system: 'redis', count: 1 }).not.hadFindings('repeated-queries')
  t.equal((await storage.search({ limit: 10 })).total, 2)
})

t.test('a query of each of many fragments is one finding of the page, at the line of the query', async t => {
  const names = { product: [12, true], few: [4, true], user: [12, false] } as const
  const { client, profileOf } = await createProfiledKernel(t, {
    register: app => {
      for (const [name, [count, isOfItem]] of Object.entries(names)) {
        const fragment = (id: number) =>
          defineController('part', async () => {
            await app.queries.measure(
              'postgresql',
              `SELECT * FROM ${name}s WHERE id = ?`,
              [isOfItem ? id : 1],
              () => [],
            )
            return Response.text('')
          })
        const controller = async (request: Request) => {
          for (let id = 0; id < count; id++) await app.kernel.forward(request, fragment(id))
          return Response.html('')
        }
        app.routes.add({ name, path: `/${name}`, controller })
      }
      const select = (id: number) => app.queries.measure('mysql', 'SELECT ? FROM parts', [id], () => sleep(20))
      const part = (id: number) => defineController('part', () => select(id).then(() => Response.text('')))
      const controller = async (request: Request) => {
        await Promise.all(Array.from({ length: 12 }, (_, id) => app.kernel.forward(request, part(id))))
        return Response.html('')
      }
      app.routes.add({ name: 'together', path: '/together', controller })
    },
  })
  const find = async (name: string) => {
    const response = await client.get(`/${name}`)
    t.equal(response.status, 200)
    return findFindings(await profileOf(response)).filter(({ rule }) => rule === 'repeated-queries')
  }
  t.match(await find('product'), [
    {
      title: 'N+1 queries',
      problem: /^N\+1: \{statement\} ran 12 times in 12 sub-requests, /,
      values: { statement: 'SELECT * FROM products WHERE id = ?' },
      code: { file: /n-plus-one\.test\.[jt]s$/, line: Number },
    },
  ])
  t.match(await find('user'), [
    { title: 'Query repeated', problem: /ran 12 times with the same values in 12 sub-requests/ },
  ])
  t.strictSame(await find('few'), [])
  const response = await client.get('/together')
  const together = await profileOf(response)
  const [finding] = findFindings(together).filter(({ rule }) => rule === 'repeated-queries')
  t.match(finding?.problem, ' 12 times in 12 sub-requests, ')
  t.ok(Number(finding?.evidence?.time) <= together.summary.duration, 'queries at the same time count once')
  const metrics = String(response.headers.get('server-timing'))
  const [total, database] = [/total;.*?dur=([\d.]+)/, /db;desc="12 queries";dur=([\d.]+)/].map(each =>
    Number(each.exec(metrics)?.[1]),
  )
  t.ok(Number(database) <= Number(total), metrics)
})
