import { context, propagation } from '@opentelemetry/api'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createTracedKernel } from './traced-kernel.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'

/** Headers that are no trace context: a new trace begins. */
const malformed: Readonly<Record<string, string>> = {
  'an empty field': '',
  'another format': 'not-a-trace-parent',
  'the forbidden version': `ff-${traceId}-${parentId}-01`,
  'a version of one digit': `0-${traceId}-${parentId}-01`,
  'capital letters': `00-${traceId.toUpperCase()}-${parentId}-01`,
  'a short trace id': `00-${traceId.slice(1)}-${parentId}-01`,
  'a long trace id': `00-${traceId}0-${parentId}-01`,
  'a trace id of zeros': `00-${'0'.repeat(32)}-${parentId}-01`,
  'a parent id of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
  'a parent id that is not hexadecimal': `00-${traceId}-${'g'.repeat(16)}-01`,
  'no flags': `00-${traceId}-${parentId}`,
  'flags of one digit': `00-${traceId}-${parentId}-1`,
  'more than version 00 has': `00-${traceId}-${parentId}-01-more`,
  'two values in one field': `00-${traceId}-${parentId}-01, 00-${traceId}-${parentId}-01`,
}

/** Headers that are a trace context. */
const wellFormed: Readonly<Record<string, string>> = {
  'version 00': `00-${traceId}-${parentId}-01`,
  'a later version': `01-${traceId}-${parentId}-01`,
  'a later version with more parts': `cc-${traceId}-${parentId}-01-what-the-future-brings`,
  'unknown flags': `00-${traceId}-${parentId}-03`,
}

t.test('a request continues the trace of its trace context, and begins one if that is malformed', async t => {
  const kernel = await createTracedKernel(t)
  const all = { ...malformed, ...wellFormed }
  for (const [name, traceparent] of Object.entries(all)) {
    await kernel.client.get('/_healthy', { headers: { traceparent, 'user-agent': name, tracestate: 'a=1,b=2' } })
  }
  const twice = [...Array(2)].map(() => ['traceparent', `00-${traceId}-${parentId}-01`] as const)
  await kernel.client.get('/_healthy', { headers: [...twice, ['user-agent', 'two fields']] })
  await kernel.close()
  const servers = kernel.receiver.spans.filter(({ kind }) => kind === 2)
  const find = (name: string) => servers.find(({ attributes }) => attributes['user_agent.original'] === name)
  for (const name of [...Object.keys(malformed), 'two fields']) {
    const span = find(name)
    t.match(span, { parentId: '', traceState: '' }, name)
    t.not(span?.traceId, traceId, name)
  }
  for (const name of Object.keys(wellFormed)) t.match(find(name), { traceId, parentId, traceState: 'a=1,b=2' }, name)
})

t.test('without tracing, the trace context of a request is that of its header, by the same rules', async t => {
  const { client, profileOf, storage } = await createProfiledKernel(t)
  const find = async (headers: Readonly<Record<string, string>>) => {
    const profile = await profileOf(await client.get('/embed', { headers }))
    const inner = await waitForProfile(storage, String(profile.children[0]))
    return [profile, inner].map(
      ({ collectors: { request } }) => request?.traceId && [request.traceId, request.parentSpanId],
    )
  }
  for (const [name, traceparent] of Object.entries(malformed)) {
    t.strictSame(await find({ traceparent }), [undefined, undefined], name)
  }
  for (const [name, traceparent] of Object.entries(wellFormed)) {
    const expected = [
      [traceId, parentId],
      [traceId, undefined],
    ]
    t.strictSame(await find({ traceparent }), expected, `${name}: a sub-request is in the trace of its parent`)
  }
  t.strictSame(await find({}), [undefined, undefined])
})

t.test('a malformed trace state is dropped, the trace goes on', async t => {
  const kernel = await createTracedKernel(t)
  const headers = { traceparent: `00-${traceId}-${parentId}-01` }
  for (const tracestate of ['=', 'A=1', `a=${'x'.repeat(600)}`]) {
    await kernel.client.get('/_healthy', { headers: { ...headers, tracestate } })
  }
  await kernel.close()
  const servers = kernel.receiver.spans.filter(({ kind }) => kind === 2)
  t.strictSame(
    servers.map(span => [span.traceId, span.traceState]),
    [...Array(3)].map(() => [traceId, '']),
  )
})

t.test('calls of the application carry the trace context of their span, and no baggage', async t => {
  const sent: Record<string, string>[] = []
  const kernel = await createTracedKernel(t, {
    register({ routes }) {
      const call = () => {
        const headers: Record<string, string> = {}
        propagation.inject(context.active(), headers)
        sent.push(headers)
        return new Response('')
      }
      routes.add({ name: 'call', path: '/call', controller: call })
    },
  })
  const headers = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'a=1', baggage: 'user=4711' }
  await kernel.client.get('/call', { headers })
  await kernel.close()
  const { spanId } = kernel.receiver.span('controller call')
  t.strictSame(sent, [{ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'a=1' }])
})

/** How often a request is sent: with a trace context that is sampled, with one that is not, and without. */
async function countSampled(t: import('tap').Test, sampler: string, ratio = ''): Promise<readonly number[]> {
  const variables = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio }
  const kernel = await createTracedKernel(t, { variables })
  for (let count = 0; count < 10; count++) {
    const start = `00-${traceId}-${parentId}-0`
    await kernel.client.get('/_healthy', { headers: { traceparent: `${start}1`, 'user-agent': '0' } })
    await kernel.client.get('/_healthy', { headers: { traceparent: `${start}0`, 'user-agent': '1' } })
    await kernel.client.get('/_healthy', { headers: { 'user-agent': '2' } })
  }
  await kernel.close()
  const servers = kernel.receiver.spans.filter(({ kind }) => kind === 2)
  return ['0', '1', '2'].map(name => servers.filter(span => span.attributes['user_agent.original'] === name).length)
}

t.test('the sampler decides which requests are sent', async t => {
  t.strictSame(await countSampled(t, ''), [10, 0, 10])
  t.strictSame(await countSampled(t, 'parentbased_always_on'), [10, 0, 10])
  t.strictSame(await countSampled(t, 'parentbased_always_off'), [10, 0, 0])
  t.strictSame(await countSampled(t, 'always_on'), [10, 10, 10])
  t.strictSame(await countSampled(t, 'always_off'), [0, 0, 0])
  t.strictSame(await countSampled(t, 'traceidratio', '0'), [0, 0, 0])
  t.strictSame(await countSampled(t, 'traceidratio', '1'), [10, 10, 10])
  t.strictSame(await countSampled(t, 'parentbased_traceidratio', '0'), [10, 0, 0])
})

t.test('a sampler with a share of the traces takes whole traces: the same in each process', async t => {
  const kernel = await createTracedKernel(t, {
    variables: { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
  })
  const ids = Array.from(
    { length: 64 },
    (_each, index) => `${(index * 4).toString(16).padStart(2, '0')}${'0'.repeat(29)}1`,
  )
  for (const id of ids) {
    await kernel.client.get('/_healthy', { headers: { traceparent: `00-${id}-${parentId}-01` } })
  }
  await kernel.close()
  const taken = new Set(kernel.receiver.spans.map(span => span.traceId))
  t.equal(taken.size, 16)
  t.equal(kernel.receiver.spans.filter(({ kind }) => kind === 2).length, taken.size)
  t.ok(kernel.receiver.spans.length > taken.size, 'with their children')
})
