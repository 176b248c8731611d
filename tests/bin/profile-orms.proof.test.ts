import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import type { QueryData } from '#tests/support/create-profile.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { startMongodb } from '#tests/support/start-mongodb.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const packages = [
  ...['pg@8', 'mongodb@7', 'drizzle-orm@0.45', 'kysely@0.28', 'knex@3', 'sequelize@6', 'typeorm@1', 'reflect-metadata'],
  ...['mongoose@9', 'prisma@7', '@prisma/client@7', '@prisma/adapter-pg@7', 'express@5'],
]

/** The line of each query ends with the name of its library. */
const application = `
import { createServer } from 'node:http'
import 'reflect-metadata'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '@prisma/client'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import express from 'express'
import createKnex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import mongoose from 'mongoose'
import pg from 'pg'
import { DataTypes, Sequelize } from 'sequelize'
import { DataSource, EntitySchema } from 'typeorm'

const { mongo, ...place } = JSON.parse(process.env.PLACE)
const { database, host, password, port, user } = place
const url = 'postgresql://' + user + ':' + password + '@' + host + ':' + port + '/' + database
const pool = new pg.Pool({ ...place, max: 2 })
await pool.query('CREATE TABLE users (id int PRIMARY KEY, name text)')
await pool.query("INSERT INTO users SELECT i, 'name' || i FROM generate_series(1, 3) AS i")

const users = pgTable('users', { id: integer('id'), name: text('name') })
const db = drizzle(pool)
const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) })
const knex = createKnex({ client: 'pg', connection: place, pool: { min: 0, max: 2 } })
const sequelize = new Sequelize(url, { logging: false, pool: { max: 2 } })
const columns = { id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.TEXT }
const SequelizeUser = sequelize.define('users', columns, { timestamps: false })
const entity = { name: 'users', columns: { id: { type: 'int', primary: true }, name: { type: 'text' } } }
const source = new DataSource({ type: 'postgres', url, entities: [new EntitySchema(entity)], poolSize: 2 })
await source.initialize()
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 2 }) })
await mongoose.connect('mongodb://' + mongo + '/shop', { maxPoolSize: 2, autoIndex: false, autoCreate: false })
const MongooseUser = mongoose.model('users', new mongoose.Schema({ _id: Number, name: String }))

const pages = {
  async drizzle(id) {
    await db.select().from(users).where(eq(users.id, id)) // drizzle
  },
  async kysely(id) {
    await kysely.selectFrom('users').selectAll().where('id', '=', id).execute() // kysely
  },
  async knex(id) {
    await knex('users').where({ id }) // knex
  },
  async sequelize(id) {
    await SequelizeUser.findByPk(id) // sequelize
  },
  async typeorm(id) {
    await source.getRepository('users').findOneBy({ id }) // typeorm
  },
  async prisma(id) {
    await prisma.users.findMany({ where: { id } }) // prisma
  },
  async mongoose(id) {
    await MongooseUser.findOne({ _id: id }) // mongoose
  },
}
// Their first connections ask questions of their own.
for (const page of Object.values(pages)) await page(1)
const framework = express()
framework.get('/unique', async function showUnique(request, reply) { // unique
  for (const id of [1, 2, 3]) await prisma.users.findUnique({ where: { id } })
  reply.send('unique')
})
const server = createServer(async (message, reply) => {
  const name = message.url.slice(1)
  if (name === 'unique') return framework(message, reply)
  for (const id of [1, 2, 3]) await pages[name](id)
  reply.end(name)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

/** Prisma generates its client. Its engine for migrations, which would be downloaded, is not needed. */
const prismaFiles = {
  'schema.prisma': `
generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model users {
  id Int @id
  name String?
}
`,
  'prisma.config.ts': `export default { schema: 'schema.prisma', datasource: { url: 'postgresql://localhost/none' } }\n`,
}

/** A folder with the packages, which is removed with the test. */
async function install(t: Test): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'orms-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const files = { ...prismaFiles, 'package.json': '{}' }
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content)
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  const npm = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
  for (const line of [npm, [path.join(folder, 'node_modules/.bin/prisma'), 'generate']]) {
    const { code, stderr, stdout } = await runProcess(t, line, { cwd: folder, env })
    t.equal(code, 0, line.join(' '), { output: stdout + stderr })
  }
  return folder
}

t.test('queries of ORMs have their lines', { skip: noRegistry || lacksPostgres }, async t => {
  const place = { ...(await startPostgres(t)), mongo: await startMongodb(t) }
  const cwd = await install(t)
  const { stop, url, viewer } = await startProfiled(t, application, { PLACE: JSON.stringify(place) }, cwd)
  const lines = application.split('\n')
  for (const name of ['drizzle', 'kysely', 'knex', 'sequelize', 'typeorm', 'prisma', 'unique', 'mongoose']) {
    await t.test(name, async t => {
      const response = await fetch(`${url}/${name}`)
      t.equal(await response.text(), name)
      const token = String(response.headers.get('x-debug-token'))
      await until(async () => (await fetch(`${viewer}/_profiler/${token}.json`)).ok)
      const { data } = await readProfile(viewer, token)
      const queries = (data.queries?.queries ?? []) as readonly QueryData[]
      t.equal(queries.length, 3)
      t.equal(new Set(queries.map(({ text }) => text)).size, 1, 'one statement, as often as it was run')
      t.match(queries, Array(3).fill({ text: /users/, system: name === 'mongoose' ? 'mongodb' : 'postgresql' }))
      const places = queries.map(({ caller }) => {
        const { file, isIn = false, line = 0 } = caller ?? {}
        return [file, lines[line - 1]?.split('// ')[1], isIn]
      })
      // Prisma sends the query of findUnique later: no stack has its line, so the query is in the handler.
      t.strictSame(places, Array(3).fill(['app.mjs', name, name === 'unique']))
    })
  }
  await stop()
})
