import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Request } from 'sinfonietta'
import { t } from 'tap'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { Response } from '#lib/http/response.ts'
import type { QueryData } from '#tests/support/create-profile.ts'
import { findPort } from '#tests/support/find-port.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { lacksPrograms, startServer } from '#tests/support/start-server.ts'

/** The part of memjs that is used. */
interface MemjsClient {
  get(key: string): Promise<{ readonly value: Buffer | null }>
  get(key: string, callback: (error: unknown, value: Buffer | null) => void): void
  set(key: string, value: string, options: object): Promise<boolean>
  increment(key: string, amount: number, options: object): Promise<unknown>
  close(): void
}

const sources = readFileSync('tests/bin/memcached.test.ts', 'utf8').split('\n')

await openLibraries(process.cwd())
const { Client }: { readonly Client: { create(servers: string): MemjsClient } } = createRequire(import.meta.url)(
  'memjs',
)

t.test('commands of memjs are those of their requests', { skip: lacksPrograms('Memcached', 'memcached') }, async t => {
  const port = await findPort()
  const args = ['-l', '127.0.0.1', '-p', `${port}`, '-U', '0', '-vv']
  await startServer(t, { command: 'memcached', args, ready: /server listening/, stop: 'SIGKILL' })
  const client = Client.create(`127.0.0.1:${port}`)
  t.teardown(() => client.close())
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/work': async ({ query }: Request) => {
        const key = `key${query.get('number')}`
        await client.set(key, 'value', { expires: 60 })
        await Promise.all([client.get(key), client.get(`no${key}`)])
        await client.increment(key, 1, {}).catch(() => {})
        // A callback runs for its request.
        await new Promise(resolve => client.get(key, () => client.get(`in${key}`, resolve)))
        return Response.text('')
      },
    },
  })
  const numbers = Array.from({ length: 30 }, (_, index) => index)
  const responses = await Promise.all(numbers.map(number => kernel.client.get(`/work?number=${number}`)))
  const profiles = await Promise.all(responses.map(response => kernel.profileOf(response)))
  const commandsOf = ({ collectors }: (typeof profiles)[number]) =>
    (collectors.queries as { readonly queries: readonly QueryData[] }).queries
  const expected = (key: string) => [
    { text: `SET ${key} ? ?`, error: undefined },
    { text: `GET ${key}`, rows: 1 },
    { text: `GET no${key}`, rows: 0 },
    { text: `INCR ${key} ? ?`, error: 'MemJS INCREMENT: Incr/Decr on non-numeric value' },
    { text: `GET ${key}`, rows: 1 },
    { text: `GET in${key}`, rows: 0 },
  ]
  t.hasStrict(
    profiles.map(profile => commandsOf(profile)),
    numbers.map(number => expected(`key${number}`)),
    'each request has its own commands',
  )
  const ends = profiles.map(profile => commandsOf(profile).map(({ caller }) => sources[Number(caller?.line) - 1]))
  t.strictSame(
    ends.filter(lines =>
      lines.some((line, index) => !line?.includes(`client.${index === 0 ? 'set' : index === 3 ? 'increment' : 'get'}`)),
    ),
    [],
    'each has the line of its call',
  )
})
