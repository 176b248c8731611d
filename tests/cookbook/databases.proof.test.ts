import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { t } from 'tap'
import type { QueryData } from '#tests/support/create-profile.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { type DatabaseServer, lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { followRecipes, proven, readTable } from './recipes.ts'

const rows = ["INSERT INTO books VALUES (1, 'Notes', 'Ada'), (2, 'Letters', 'Ada'), (3, 'Compilers', 'Grace')"]

const byAda = [
  { id: 1, title: 'Notes', author: 'Ada' },
  { id: 2, title: 'Letters', author: 'Ada' },
]

function urlOf(scheme: string, { database, host, password, port, user }: DatabaseServer): string {
  return `${scheme}://${user}:${password}@${host}:${port}/${database}`
}

const skip = noRegistry || lacksPostgres || lacksMariadb || lacksRedis

t.test('the recipes of databases', { skip }, async t => {
  const [postgres, mariadb, redis] = [await startPostgres(t), await startMariadb(t), await startRedis(t)]
  const client = new pg.Client(postgres)
  await client.connect()
  const connection = await createConnection(mariadb)
  for (const statement of [readTable(), ...rows]) {
    await client.query(statement)
    await connection.query(statement)
  }
  await client.end()
  await connection.end()

  const [url, mysqlUrl] = [urlOf('postgres', postgres), urlOf('mysql', mariadb)].map(each => JSON.stringify(each))
  const recipes = await followRecipes(t, proven.databases)
  recipes.list({
    'drizzle/drizzle-bundle.ts': `createDrizzleBundle(${url})`,
    'kysely/kysely-bundle.ts': `createKyselyBundle(${url})`,
    'knex/knex-bundle.ts': `createKnexBundle(${url})`,
    'prisma/prisma-bundle.ts': `createPrismaBundle(${url})`,
    'mysql/mysql-bundle.ts': `createMysqlBundle(${mysqlUrl})`,
    'visits/visits-bundle.ts': `createVisitsBundle('redis://${redis.host}:${redis.port}')`,
  })
  const { profile, site } = await recipes.serve(t)

  for (const name of ['drizzle', 'kysely', 'knex', 'prisma', 'mysql']) {
    await t.test(name, async t => {
      // The first connection of a library may ask questions of its own.
      await profile(`/${name}/books?author=Ada`)
      const { body, data } = await profile(`/${name}/books?author=Ada`)
      t.strictSame(body, byAda)
      const queries = (data.queries?.queries ?? []) as readonly QueryData[]
      t.equal(queries.length, 1)
      t.match(queries[0], { text: /books/, system: name === 'mysql' ? /^mysql|mariadb$/ : 'postgresql' })
      const { file = '', line = 0 } = queries[0]?.caller ?? {}
      t.equal(file, `bundles/${name}/${name}-bundle.ts`)
      t.match(recipes.read(file).split('\n')[line - 1], /await /, 'the line that has run it')
    })
  }

  await t.test('ioredis', async t => {
    await profile('/visits')
    const { body, data } = await profile('/visits')
    t.strictSame(body, { visits: 2 })
    t.match(data.queries?.queries, [{ text: /incr/i, system: 'redis' }])
  })

  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0, 'all connections are closed')
  redis.process.kill('SIGKILL')
  t.match(await recipes.run('bin/console debug:routes visits'), '/visits', 'the console needs no Redis')
})
