import { tracingChannel } from 'node:diagnostics_channel'
import { setTimeout as delay } from 'node:timers/promises'
import { context, trace } from '@opentelemetry/api'
import { type Bundle, createFrameworkBundle, type Request, TerminateEvent } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createRequest, createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { requestKey, requestOf } from '#bundles/opentelemetry/instrumentations.ts'
import { TracedContext } from '#bundles/opentelemetry/request-spans.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { Response } from '#lib/http/response.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'

async function boot(t: Test, register: Bundle['register'], variables = {}): Promise<TestKernel> {
  const { url } = await startTraceReceiver(t)
  const bundles = [createFrameworkBundle(), createOpenTelemetryBundle(), { name: 'own', register }]
  const kernel = await createTestKernel({ bundles, variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables } })
  t.teardown(() => kernel.close())
  return kernel
}

/** The request and the span of the running code. */
function current(): { request: Request | undefined; spanId: string | undefined } {
  return { request: requestOf(context.active()), spanId: trace.getActiveSpan()?.spanContext().spanId }
}

t.test('the key of the request is the one that any code gets by its name', async t => {
  const { createContextKey } = await import('@opentelemetry/api')
  t.equal(createContextKey('sinfonietta.request'), requestKey)
})

t.test('overlapping requests run in contexts of their own, with their request and span', async t => {
  const seen: { name: string | null; own: Request; first: Request | undefined; later: Request | undefined }[] = []
  const { client } = await boot(t, ({ routes }) => {
    routes.add({
      name: 'wait',
      path: '/wait',
      controller: async (own: Request) => {
        const first = current().request
        await delay(Number(own.query.get('ms')))
        seen.push({ name: own.query.get('name'), own, first, later: current().request })
        return new Response(String(trace.getActiveSpan()?.spanContext().traceId))
      },
    })
  })
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_each, index) => client.get(`/wait?name=${index}&ms=${(50 - index) % 7}`)),
  )
  t.equal(seen.length, 50)
  t.strictSame(
    seen.filter(({ first, later, own }) => first !== own || later !== own),
    [],
  )
  t.equal(new Set(answers.map(({ text }) => text)).size, 50, 'each request has a trace of its own')
  t.strictSame(current(), { request: undefined, spanId: undefined }, 'nothing is left behind')
})

t.test('late work, streams and sub-requests run in the context of their request', async t => {
  const seen = new Map<string, Request | undefined>()
  let page: Request | undefined
  const { client } = await boot(t, ({ dispatcher, kernel, routes }) => {
    routes.add({
      name: 'page',
      path: '/page',
      controller: async (request: Request) => {
        page = request
        await kernel.forward(request, () => {
          seen.set('sub-request', current().request?.parent)
          return new Response('')
        })
        seen.set('after the sub-request', current().request)
        setImmediate(() => seen.set('late', current().request))
        const { Readable } = await import('node:stream')
        return new Response(
          Readable.from(
            (async function* () {
              seen.set('stream', current().request)
              yield 'x'
            })(),
          ),
        )
      },
    })
    dispatcher.on(TerminateEvent, () => seen.set('terminate', current().request))
  })
  t.equal((await client.get('/page')).text, 'x')
  await until(() => seen.size === 5)
  for (const [name, request] of seen) t.equal(request, page, name)
  t.strictSame([...seen.keys()].sort(), ['after the sub-request', 'late', 'stream', 'sub-request', 'terminate'])
})

t.test('the traced context has each part of a request context, and passes it on', async t => {
  const inner = new RequestContext()
  const traced = new TracedContext(inner, () => undefined)
  const members = Object.getOwnPropertyNames(RequestContext.prototype)
  t.strictSame(Object.getOwnPropertyNames(TracedContext.prototype).toSorted(), members.toSorted())
  traced.enable()
  const request = createRequest()
  const seen = inner.run(request, () => {
    const before = traced.current
    traced.enter(undefined)
    return [before, inner.current]
  })
  t.strictSame(seen, [request, undefined])
  const channel = tracingChannel<object, object>('sinfonietta.test.carried')
  const end = traced.carry('tracing:sinfonietta.test.carried', () => request)
  channel.asyncStart.publish({})
  t.equal(inner.current, request)
  end()
  inner.enter(undefined)
  channel.asyncStart.publish({})
  t.equal(inner.current, undefined)
})

t.test('without an endpoint the bundle changes nothing', async t => {
  let request: Request | undefined
  const kernel = await boot(
    t,
    ({ routes }) => {
      routes.add({
        name: 'x',
        path: '/x',
        controller: () => {
          request = current().request
          return new Response('')
        },
      })
    },
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  )
  await kernel.client.get('/x')
  t.equal(request, undefined)
  t.equal(kernel.app.context.constructor.name, 'RequestContext')
  t.equal(kernel.app.view.constructor.name, 'HandlebarsView')
  t.equal(kernel.app.dispatcher.constructor.name, 'PlainEventDispatcher')
})
