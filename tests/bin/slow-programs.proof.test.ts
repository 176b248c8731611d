import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { findPort } from '#tests/support/find-port.ts'
import { textOf } from '#tests/support/html.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { listProfiles } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const root = path.join(import.meta.dirname, '../../..')
const preload = path.join(root, 'dist/bin/exports/profile.js')

const ask = `
const ask = async (port, target) => (await fetch('http://127.0.0.1:' + port + target)).json()`

const database = `
import pg from 'pg'
const pool = new pg.Pool({ host: '127.0.0.1', port: Number(process.env.POSTGRES), user: 'app', database: 'postgres', max: 4 })
const query = (text, values) => pool.query(text, values).then(({ rows }) => rows)`

/** What the overview of the caller says of each way. */
const causes: Readonly<Record<string, RegExp>> = {
  query: /HTTP client calls? took [\d.]+ m?s,(?: most of it)? in stock, where 1 query took [\d.]+ m?s \(app\.js:13\)/,
  loop: /in stock, where 80 queries took [\d.]+ m?s \(app\.js:15\)/,
  // On a busy machine, another process has run instead.
  block:
    /in stock, where (?:this request blocked the event loop for|its process got no CPU time for|the handler took) [\d.]+ m?s/,
  lock: /in stock, where 4 queries took [\d.]+ m?s, most of it at app\.js:26/,
  call: /in stock → rate, where 1 query took [\d.]+ m?s \(app\.js:7\)/,
  error: /; stock answered 500 with TypeError at app\.js:29: no shelf[;.]/,
}

/** A shop whose page asks two services; \`stock\` is slow in the way that the address names. */
const sources: Readonly<Record<string, string>> = {
  shop: `
import express from 'express'
import { Queue } from 'bullmq'
${ask}
const queue = new Queue('mail', { connection: { port: Number(process.env.REDIS) } })
express()
  .get('/order/:id', async ({ params: { id }, query: { slow } }, reply) => {
    const price = ask(process.env.PRICE, '/price/' + id)
    const stock = await ask(process.env.STOCK, '/stock/' + id + '?slow=' + slow)
    await queue.add('ship', { id, slow })
    reply.json({ stock, price: await price })
  })
  .get('/list', async (message, reply) => {
    const names = 'red blue green grey pink gold black white'.split(' ')
    for (const name of names) await ask(process.env.STOCK, '/stock/' + name + '?slow=none')
    reply.json(names)
  })
  .get('/two', async (message, reply) => {
    await ask(process.env.STOCK, '/stock/1?slow=query')
    reply.json(await ask(process.env.RATE, '/rate/eur'))
  })
  .listen(process.env.PORT, '127.0.0.1')`,
  stock: `
import fastify from 'fastify'
${database}
${ask}
await query('CREATE TABLE IF NOT EXISTS shelf (id int PRIMARY KEY, amount int)')
await query('INSERT INTO shelf SELECT generate_series(1, 100), 5 ON CONFLICT DO NOTHING')
const ways = {
  none: () => {},
  query: () => query('SELECT amount, pg_sleep(0.4) FROM shelf WHERE id = 1'),
  loop: async () => {
    for (let id = 1; id <= 80; id++) await query('SELECT amount, pg_sleep(0.004) FROM shelf WHERE id = $1', [id])
  },
  block: async () => {
    const end = Date.now() + 400
    while (Date.now() < end) JSON.stringify(process.versions)
  },
  lock: async () => {
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query('UPDATE shelf SET amount = amount WHERE id = 1')
    setTimeout(() => holder.query('COMMIT').then(() => holder.release()), 400)
    await query('UPDATE shelf SET amount = amount - 1 WHERE id = 1')
  },
  call: () => ask(process.env.RATE, '/rate/eur'),
  error: () => { throw new TypeError('no shelf') },
}
const app = fastify()
app.get('/stock/:id', async ({ params: { id }, query: { slow } }) => {
  await ways[slow]()
  return { id }
})
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })`,
  price: `
import 'reflect-metadata'
import { Controller, Get, Module, Param } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
class Prices {
  show(id) { return { id, price: 9 } }
}
Get('price/:id')(Prices.prototype, 'show', Object.getOwnPropertyDescriptor(Prices.prototype, 'show'))
Param('id')(Prices.prototype, 'show', 0)
Controller()(Prices)
class App {}
Module({ controllers: [Prices] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(process.env.PORT, '127.0.0.1')`,
  mail: `
import { Worker } from 'bullmq'
import { createServer } from 'node:http'
${ask}
new Worker('mail', ({ data: { id, slow } }) => ask(process.env.STOCK, '/stock/' + id + '?slow=' + slow), {
  connection: { port: Number(process.env.REDIS) },
})
createServer((message, reply) => reply.end('mail')).listen(process.env.PORT, '127.0.0.1')`,
  rate: `
import { Response } from 'sinfonietta'
import { serve } from 'sinfonietta/server'
${database}
const show = async () => Response.json(await query('SELECT 1 AS rate, pg_sleep(0.4)'))
const rate = { name: 'rate', register: ({ routes }) => void routes.get('rate', '/rate/:id', show) }
await serve({ bundles: [rate] })`,
}

t.test(
  'the overview of a page names which of five programs is slow, and why',
  { skip: lacksPostgres || lacksRedis },
  async t => {
    const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)])
    const names = Object.keys(sources)
    const ports = Object.fromEntries(
      await Promise.all(names.map(async name => [name.toUpperCase(), `${await findPort()}`])),
    )
    const folder = t.testdir({ node_modules: {}, temporary: {} })
    const shared = { ...process.env, ...ports, POSTGRES: `${postgres.port}`, REDIS: `${redis.port}` }
    const env = { ...shared, PROFILER_ALONE: '', PROFILER_PORT: '0', TMPDIR: path.join(folder, 'temporary') }
    const own = { APP_ENV: 'dev', APP_SECRET: 'only for the time of a test, and long enough', LOG_LEVEL: 'critical' }
    let output = ''
    for (const name of names) {
      const cwd = path.join(folder, 'apps', name)
      mkdirSync(path.join(cwd, 'node_modules'), { recursive: true })
      writeFileSync(path.join(cwd, 'app.js'), String(sources[name]))
      writeFileSync(path.join(cwd, 'package.json'), JSON.stringify({ name, type: 'module' }))
      if (name === 'rate') symlinkSync(root, path.join(cwd, 'node_modules/sinfonietta'))
      const port = String(ports[name.toUpperCase()])
      const command = name === 'rate' ? ['app.js', `--port=${port}`] : ['--import', preload, 'app.js']
      const child = startProcess(t, [process.execPath, ...command], {
        cwd,
        env: { ...env, PORT: port, ...(name === 'rate' && own) },
      })
      if (name === 'shop')
        for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += chunk))
    }
    const answers = (name: string) =>
      fetch(`http://127.0.0.1:${ports[name.toUpperCase()]}/up`).then(
        () => true,
        () => false,
      )
    for (const name of names) await until(() => answers(name), 100)
    await until(() => /http:\S+\/_profiler\//.test(output), 100)
    const [, viewer = ''] = /(http:\S+)\/_profiler\//.exec(output) ?? []
    const read = async (profile: { readonly token?: unknown } | undefined) => {
      const page = await (await fetch(`${viewer}/_profiler/${profile?.token}`)).text()
      const [, sentence = ''] = /<p class="answer">([\s\S]*?)<\/p>/.exec(page) ?? []
      return textOf(sentence).trim()
    }
    /** The called program stores its profile later than its caller, if it is busy. */
    const readLinked = async (profile: { readonly token?: unknown } | undefined, cause: RegExp) => {
      let sentence = ''
      await until(async () => {
        sentence = await read(profile)
        return cause.test(sentence)
      }, 100).catch(() => undefined)
      return sentence
    }
    // The first request has much work of its own.
    for (const [index, slow] of ['none', ...Object.keys(causes)].entries()) {
      await (await fetch(`http://127.0.0.1:${ports.SHOP}/order/1?slow=${slow}`)).text()
      const jobs = async () =>
        (await listProfiles(viewer)).filter(({ program, type }) => `${program} ${type}` === 'mail job')
      await until(async () => (await jobs()).length > index, 100)
      const cause = causes[slow]
      if (cause === undefined) continue
      const page = (await listProfiles(viewer)).find(
        ({ program, url }) => program === 'shop' && String(url).includes(`slow=${slow}`),
      )
      t.match(await readLinked(page, cause), cause, slow)
      t.match(await readLinked((await jobs())[0], cause), cause, `${slow}, of a job`)
    }

    /** The findings of a page of the shop, when the profiles of all that it has called are stored. */
    const findingsOf = async (target: string, called: number) => {
      await (await fetch(`http://127.0.0.1:${ports.SHOP}${target}`)).text()
      const find = async () => (await listProfiles(viewer)).find(({ url }) => String(url).endsWith(target))
      const show = async (form: string) => (await fetch(`${viewer}/_profiler/${(await find())?.token}${form}`)).text()
      await until(async () => (await show('?panel=http')).split(' in <a').length > called, 100)
      return show('.md?panel=findings')
    }
    t.match(
      await findingsOf('/list', 8),
      /N\+1: 8 similar calls to `GET \S+\/stock\/:id`, [\d.]+ m?s in total; `stock` answered them by its route `GET \/stock\/:id`.*: `app\.js:16 via ask:5`/,
    )
    t.match(
      await findingsOf('/two', 2),
      /2 calls ran one after another \(`stock, then rate`\), .*`app\.js:20 via ask:5`/,
    )
  },
)
