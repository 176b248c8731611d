/**
 * Five programs that call one another: the sources by their names. Each listens on `PORT`, and
 * ends in order with SIGTERM.
 */
const end = `process.on('SIGTERM', () => process.exit())`

/** Calls another program. Gives its answer, with the token of its profile: the link that a page must have. */
const call = `
const call = async (port, path, tokens) => {
  const response = await fetch('http://127.0.0.1:' + port + path).catch(() => undefined)
  const text = await response?.text().catch(() => undefined)
  const token = response?.headers.get('x-debug-token')
  if (text !== undefined && token) tokens.push([path.split('/')[1], token])
}`

const database = `
import pg from 'pg'
const pool = new pg.Pool({ host: '127.0.0.1', port: Number(process.env.POSTGRES), user: 'app', database: 'postgres', max: 4 })
pool.on('error', () => {})
const query = (text, values) => pool.query(text, values).then(({ rows }) => rows)`

export const programSources: Readonly<Record<string, string>> = {
  shop: `
import express from 'express'
import { Queue } from 'bullmq'
${database}
${call}
const queue = new Queue('mail', { connection: { port: Number(process.env.REDIS) } })
queue.on('error', () => {})
const { STOCK, PRICE, RATE } = process.env
express()
  .get('/order/:id', async ({ params: { id } }, reply) => {
    const tokens = []
    await query('SELECT $1::int AS id', [id])
    await call(STOCK, '/stock/' + id, tokens)
    await Promise.all([call(PRICE, '/price/' + id, tokens), call(RATE, '/rate/' + id, tokens)])
    await queue.add('ship', { id })
    reply.json(tokens)
  })
  .listen(process.env.PORT, '127.0.0.1')
${end}`,
  stock: `
import fastify from 'fastify'
${database}
const app = fastify()
app.get('/stock/:id', async ({ params: { id } }) => {
  for (let shelf = 0; shelf < 8; shelf++) await query('SELECT $1::int + $2::int AS amount', [id, shelf])
  return { id }
})
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
${end}`,
  price: `
import 'reflect-metadata'
import { Controller, Get, Module, Param } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Redis } from 'ioredis'
const redis = new Redis(Number(process.env.REDIS))
redis.on('error', () => {})
class Prices {
  async show(id) { return { id, price: await redis.incr('price:' + id) } }
}
Get('price/:id')(Prices.prototype, 'show', Object.getOwnPropertyDescriptor(Prices.prototype, 'show'))
Param('id')(Prices.prototype, 'show', 0)
Controller()(Prices)
class App {}
Module({ controllers: [Prices] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(process.env.PORT, '127.0.0.1')
${end}`,
  mail: `
import { createServer } from 'node:http'
import { Worker } from 'bullmq'
${database}
${call}
const work = async ({ data: { id } }) => {
  await query('SELECT $1::int AS sent', [id])
  await call(process.env.RATE, '/rate/' + id, [])
}
new Worker('mail', work, { connection: { port: Number(process.env.REDIS) } }).on('error', () => {})
createServer((message, reply) => reply.end('mail')).listen(process.env.PORT, '127.0.0.1')
${end}`,
  rate: `
import { Response } from 'sinfonietta'
import { serve } from 'sinfonietta/server'
const rate = { name: 'rate', register: ({ routes }) => void routes.get('rate', '/rate/:id', ({ path }) => Response.json({ path })) }
await serve({ bundles: [rate] })`,
}
