import { t } from 'tap'
import { HealthListener } from '#bundles/framework/listeners/health-listener.ts'
import { createRequest, createRequestEvent } from '#kernel/testing/event-factories.ts'
import { createSignals } from '#lib/signals.ts'

const signals = createSignals(error => t.fail(String(error)))
const listener = new HealthListener(signals)

function ask(target: string, method = 'GET') {
  const event = createRequestEvent({ request: createRequest(target, { method }) })
  listener.onRequest(event)
  const { response } = event
  return response && [response.status, response.body, response.headers.get('cache-control')]
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

t.test('a server that drains is alive and not ready', async t => {
  signals.emit('server.draining', undefined)
  t.strictSame(ask('/_health'), [503, '{"status":"draining"}', 'no-store'])
  t.strictSame(ask('/_health/live'), [200, '{"status":"live"}', 'no-store'])
})
