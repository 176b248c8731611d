import { setImmediate } from 'node:timers/promises'
import { type Bundle, createFrameworkBundle, type HealthCheck } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel, silentLogger } from 'sinfonietta/testing'
import { t } from 'tap'
import { HealthChecks, HealthListener } from '#bundles/framework/health.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createSignals } from '#lib/signals.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const signals = createSignals(error => t.fail(String(error)))
const redactor = new Redactor()

function createListener(checks = new HealthChecks([], silentLogger), isDebug = false): HealthListener {
  return new HealthListener({ signals, checks, debugGate: { allows: () => isDebug }, redactor })
}

const listener = createListener()

function ask(target: string, method = 'GET') {
  const event = createRequestEvent({ request: createRequest(target, { method }) })
  listener.onRequest(event)
  const { response } = event
  return response && [response.status, response.body, response.headers.get('cache-control')]
}

/** Health checks with a clock that only the test moves. */
function createChecks(...list: HealthCheck[]) {
  const { logger, records } = createRecorder()
  const time = { now: 0 }
  const checks = new HealthChecks(list, logger, () => time.now)
  const askChecks = async (isDebug = false) => {
    const event = createRequestEvent({ request: createRequest('/_health') })
    await createListener(checks, isDebug).onRequest(event)
    return [event.response?.status, JSON.parse(String(event.response?.body))]
  }
  return {
    ask: askChecks,
    checks,
    time,
    log: () => records.map(({ channel, level, message }) => [channel, level, message]),
  }
}

t.test('a supervisor learns that the process lives, and that it is ready', async t => {
  t.strictSame(ask('/_health/live'), [200, '{"status":"live"}', 'no-store'])
  t.strictSame(ask('/_health'), [200, '{"status":"ready"}', 'no-store'])
  t.strictSame(ask('/_health', 'HEAD'), [200, '{"status":"ready"}', 'no-store'])
})

t.test('everything else is left to others', async t => {
  for (const target of ['/', '/_healthy', '/_health/', '/_health/dead', '/x/_health']) t.equal(ask(target), undefined)
  t.equal(ask('/_health', 'POST'), undefined)
})

t.test('checks of bundles', async t => {
  t.test('/_health runs the checks that bundles have added', async t => {
    const shop: Bundle = {
      name: 'shop',
      register({ healthChecks }) {
        healthChecks.push({ name: 'database', check: () => Promise.reject(new Error('down')) })
      },
    }
    const { client, close, records } = await createTestKernel({
      bundles: [createFrameworkBundle(), shop],
      directory: t.testdir(),
      variables: { APP_ENV: 'prod', APP_SECRET: 'a secret of the test, and of nothing else' },
    })
    t.teardown(close)
    const { status, text } = await client.get('/_health')
    t.strictSame([status, text], [503, '{"status":"failing","failed":["database"]}'])
    t.equal((await client.get('/_health/live')).status, 200)
    t.match(records.at(-1), { channel: 'health', context: { exception: { message: 'down' } } })
  })

  t.test('a check that throws or rejects makes the process unready, with its name only', async t => {
    const { ask } = createChecks(
      { name: 'database', check: async () => Promise.reject(new Error('no route to 10.0.0.7')) },
      {
        name: 'disk',
        check() {
          throw undefined
        },
      },
      { name: 'cache', check: () => 0 },
    )
    t.strictSame(await ask(), [503, { status: 'failing', failed: ['database', 'disk'] }])
  })

  t.test('a client that may see debug output gets times and masked errors', async t => {
    const { ask } = createChecks(
      { name: 'database', check: async () => Promise.reject(new Error('postgres://app:hunter2@db is down')) },
      { name: 'cache', check() {} },
    )
    t.strictSame(await ask(true), [
      503,
      {
        status: 'failing',
        failed: ['database'],
        checks: [
          { name: 'database', ms: 0, error: 'postgres://******@db is down' },
          { name: 'cache', ms: 0 },
        ],
      },
    ])
  })

  t.test('a check that returns false has failed', async t => {
    const { ask } = createChecks({ name: 'database', check: async () => false })
    t.strictSame(await ask(), [503, { status: 'failing', failed: ['database'] }])
  })

  t.test('any number of requests causes one call within a second', async t => {
    let calls = 0
    const { ask, time } = createChecks({ name: 'database', check: async () => void calls++ })
    await Promise.all([ask(), ask()])
    time.now = 999
    t.strictSame(await ask(), [200, { status: 'ready' }])
    t.equal(calls, 1)
    time.now = 1000
    await ask()
    t.equal(calls, 2)
  })

  t.test('checks run at the same time', async t => {
    const running: string[] = []
    const create = (name: string): HealthCheck => ({
      name,
      async check() {
        running.push(name)
        await setImmediate()
        t.strictSame(running, ['a', 'b'])
      },
    })
    t.strictSame(await createChecks(create('a'), create('b')).ask(), [200, { status: 'ready' }])
  })

  t.test('a check whose process is blocked for longer than its timeout has not failed', async t => {
    const check = async () => {
      for (let step = 0; step < 3; step++) await setImmediate()
    }
    const { ask } = createChecks({ name: 'files', timeout: 40, check })
    const answer = ask()
    const end = performance.now() + 120
    while (performance.now() < end);
    t.strictSame(await answer, [200, { status: 'ready' }])
  })

  t.test('a check that hangs fails at its timeout, and is not called again before it ends', async t => {
    let end = () => {}
    const signalled: AbortSignal[] = []
    const check = async (signal: AbortSignal) => {
      if (signalled.push(signal) === 1) await new Promise<void>(resolve => (end = resolve))
    }
    const { ask, time } = createChecks({ name: 'slow', timeout: 1, check })
    const [status, { checks }] = await ask(true)
    t.equal(status, 503)
    t.strictSame(checks, [{ name: 'slow', ms: 0, error: 'The health check "slow" did not end within 1 ms.' }])
    t.equal(signalled[0]?.aborted, true)
    time.now = 2000
    t.equal((await ask())[0], 503)
    t.equal(signalled.length, 1)
    end()
    await setImmediate()
    time.now = 4000
    t.equal((await ask())[0], 200)
    t.equal(signalled.length, 2)
  })

  t.test('a failure is logged when it begins and when it ends', async t => {
    let isDown = true
    const check = () => {
      if (isDown) throw new Error('down')
    }
    const { ask, log, time } = createChecks({ name: 'database', check })
    for (const now of [0, 1000, 2000]) {
      time.now = now
      await ask()
    }
    isDown = false
    for (const now of [3000, 4000]) {
      time.now = now
      await ask()
    }
    t.strictSame(log(), [
      ['health', 'error', 'The health check "database" has failed.'],
      ['health', 'warning', 'The health check "database" succeeds again.'],
    ])
  })
})

t.test('a server that drains is alive and not ready', async t => {
  signals.emit('server.draining', undefined)
  t.strictSame(ask('/_health'), [503, '{"status":"draining"}', 'no-store'])
  t.strictSame(ask('/_health/live'), [200, '{"status":"live"}', 'no-store'])
})
