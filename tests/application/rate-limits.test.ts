import { copyFileSync } from 'node:fs'
import path from 'node:path'
import { Redis } from 'ioredis'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { runProcess, withVariables } from '#tests/support/start-process.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

/** The parts of the example that this test uses. */
interface Recipe {
  readonly createLimitsBundle: (createLimiter: unknown) => Bundle
  readonly createRedisLimiter: (redis: Redis) => unknown
}

t.test('by the recipe of the guide, processes that share a Redis count together', { skip: lacksRedis }, async t => {
  // In the repository, so that the imports of the example find its packages.
  const folder = t.testdir()
  const names = ['limits-bundle', 'redis-limiter']
  for (const name of names) copyFileSync(`docs/examples/protection/bundles/limits/${name}.ts`, `${folder}/${name}.ts`)
  const options =
    '--ignoreConfig --target es2023 --module nodenext --rewriteRelativeImportExtensions --skipLibCheck --types node'
  const tsc = [path.resolve('node_modules/.bin/tsc'), ...options.split(' '), ...names.map(name => `${name}.ts`)]
  const built = await runProcess(t, withVariables({}, ...tsc), { cwd: folder })
  t.equal(built.stdout + built.stderr, '')
  const load = (name: string): Promise<Partial<Recipe>> => import(path.join(folder, `${name}.js`))
  // The compiled example has no types here.
  const recipe = { ...(await load('limits-bundle')), ...(await load('redis-limiter')) } as Recipe

  const address = await startRedis(t)
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      const defaults = { _rate_limit: { points: 3, duration: 60 } }
      routes.add({ name: 'login', path: '/login', defaults, controller: () => Response.text('in') })
    },
  }
  const boot = async () => {
    const redis = new Redis(address)
    t.teardown(() => redis.disconnect())
    await redis.ping()
    const limits = recipe.createLimitsBundle(recipe.createRedisLimiter(redis))
    const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), limits, shop] })
    t.teardown(close)
    return { client, redis }
  }
  const [one, other] = [await boot(), await boot()]
  const send = async ({ client }: typeof one) => {
    const { headers, status } = await client.post('/login')
    return [status, headers.get('ratelimit')?.replace(/t=\d+/, 't='), headers.has('retry-after')]
  }
  t.strictSame(await send(one), [200, '"login";r=2;t=', false])
  t.strictSame(await send(other), [200, '"login";r=1;t=', false])
  t.strictSame(await send(one), [200, '"login";r=0;t=', false])
  t.strictSame(await send(other), [429, '"login";r=0;t=', true])
  t.ok((await one.redis.ttl('login:127.0.0.1')) > 0)

  one.redis.disconnect()
  t.strictSame(await send(one), [200, '"login";r=2;t=', false], 'without the Redis, the process counts for itself')
})
