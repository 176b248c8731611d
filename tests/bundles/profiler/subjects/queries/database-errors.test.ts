import pg from 'pg'
import { createFrameworkBundle } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { Queries } from '#kernel/contracts/queries.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'

const secret = 'CNRYx7 q4W'
const masked = 'invalid input syntax for type integer: "******"'

/** Requests whose query fails: the error is thrown, has a message of the application around it, or is logged. */
function createHandlers(client: pg.Client, findQueries: () => Queries) {
  const fail = (sql: string, values: readonly string[]) => client.query(sql, [...values])
  const wrap = (error: Error) =>
    Promise.reject(new Error(`The order cannot be saved: ${error.message}`, { cause: error }))
  return {
    '/thrown': () => fail('SELECT $1::int', [secret]).then(),
    '/measured': () =>
      findQueries().measure('postgresql', 'SELECT $1::int', [secret], () => fail('SELECT $1::int', [secret])),
    '/wrapped': () => fail('SELECT $1::int', [secret]).catch(wrap),
    '/gathered': () =>
      fail('SELECT $1::int', [secret]).catch(error => Promise.reject(new AggregateError([error], 'gathered'))),
    // Nothing in this error is that of a database: only the report of the query says so.
    '/reported': () =>
      findQueries().measure('other', 'SELECT $1', [secret], () =>
        Promise.reject(new Error(`Not a number: "${secret}"`)),
      ),
  }
}

async function startClient(t: Test): Promise<pg.Client> {
  const client = new pg.Client(await startPostgres(t))
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** The fragments of four characters of the secret that a text contains. */
function fragmentsIn(text: string): string[] {
  const fragments = Array.from({ length: secret.length - 3 }, (_, at) => secret.slice(at, at + 4))
  return fragments.filter(fragment => text.includes(fragment))
}

t.test('the value that a database quotes is masked wherever its error is shown', { skip: lacksPostgres }, async t => {
  const client = await startClient(t)
  const receiver = await startTraceReceiver(t)
  const paths: readonly string[] = ['/thrown', '/measured', '/wrapped', '/gathered', '/reported']
  await t.test('in development: profile, panels, log, headers, error pages and spans', async t => {
    const kernel = await createProfiledKernel(t, {
      bundles: [createOpenTelemetryBundle()],
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      handlers: createHandlers(client, () => kernel.app.queries) as never,
    })
    const places: [place: string, text: string][] = []
    const messages = new Set<string>()
    for (const path of paths) {
      for (const accept of ['text/html', 'application/json', 'text/plain']) {
        const response = await kernel.client.get(path, { headers: { accept } })
        places.push(
          [`${path} body`, response.text],
          [`${path} headers`, decodeURIComponent([...response.headers].join())],
        )
        const { profile } = await kernel.storedOf(response)
        places.push([`${path} profile`, JSON.stringify(profile)])
        const { token } = profile.summary
        for (const panel of [
          '',
          '?panel=exception',
          '?panel=queries',
          '?panel=logger',
          '?panel=request',
          '.md',
          '.json',
        ]) {
          places.push([`${path} ${panel}`, (await kernel.client.get(`/_profiler/${token}${panel}`)).text])
        }
        const [exception] = profile.collectors.exception?.exceptions ?? []
        const [inner = exception] = exception?.errors ?? []
        messages.add(String((inner?.cause ?? inner)?.message))
      }
    }
    places.push(['log', JSON.stringify(kernel.records)])
    await kernel.close()
    places.push(['spans', JSON.stringify(receiver.spans, (_, value) => (typeof value === 'bigint' ? '' : value))])
    t.ok(places.some(([place, text]) => place === 'spans' && text.includes(masked.replaceAll('"', '\\"'))))
    t.strictSame([...messages], [masked, 'Not a number: "******"'])
    t.strictSame(
      places.flatMap(([place, text]) => fragmentsIn(text).map(fragment => `${place}: ${fragment}`)),
      [],
    )
  })
  await t.test('in production: log and responses', async t => {
    const kernel = await createTestKernel({
      bundles: [
        createFrameworkBundle(),
        createHandlerBundle(createHandlers(client, () => kernel.app.queries) as never),
      ],
      variables: { APP_ENV: 'prod', APP_HOSTS: 'localhost' },
    })
    t.teardown(() => kernel.close())
    for (const path of paths.slice(0, -1)) t.equal((await kernel.client.get(path)).status, 500)
    const lines = kernel.records.map(record => JSON.stringify(record))
    t.equal(lines.filter(line => line.includes(masked.replaceAll('"', '\\"'))).length, 4)
    t.strictSame(fragmentsIn(lines.join('\n')), [])
  })
})
