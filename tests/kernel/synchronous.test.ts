import assert from 'node:assert'
import fc from 'fast-check'
import { ControllerArgumentsEvent, ControllerEvent, FinishRequestEvent, RequestEvent, ResponseEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { type ApplicationSpec, applications, type ListenerSpec } from '#tests/support/random-application.ts'
import { runApplication } from '#tests/support/run-application.ts'

// The kernel continues synchronously where nothing is pending. Code that waits must not notice a
// difference. These differences are not generated, because they belong to the way of calling:
// - Sub-requests that no code waits for: synchronously they end first, otherwise they overlap with their parent.
// - Arguments after one that throws: they are computed only if it throws later. So only the last argument fails.
// - An object whose `then` is another value at each read: an async function reads it once, the kernel twice.

/** Parts of the log that show what the generated applications reach. */
const reached: readonly string[] = [
  'begin kernel.request',
  'begin kernel.controller ',
  'begin kernel.controller_arguments',
  'begin kernel.view',
  'begin kernel.response',
  'begin kernel.finish_request',
  'begin kernel.exception',
  'begin kernel.terminate',
  'handle() gives',
  'handle() rejects',
  'answerError() gives',
  'the sub-request gives',
  'the sub-request fails',
  'around around',
  'request 1.1.1.1',
  'last resort of',
  'then of listener',
  'then of controller',
  'then of argument',
  'then of spare',
  'caused by',
  'kernel.terminate failed',
  'failed while an error was answered',
  'An error could not be answered',
  'The last resort failed',
  'A response was cut off',
  'Sub-requests are nested more than 10 deep',
  'must return a "Response" object',
  'must give a "Response" object',
]

t.test('synchronous and asynchronous code have the same events, responses, errors and log messages', async t => {
  const missing = new Set(reached)
  const property = fc.asyncProperty(applications, async spec => {
    const lines = await runApplication(spec, 'synchronous')
    assert.deepStrictEqual(await runApplication(spec, 'asynchronous'), lines)
    assert.deepStrictEqual(await runApplication(spec, 'mixed'), lines)
    const text = lines.join('\n')
    for (const part of missing) if (text.includes(part)) missing.delete(part)
  })
  await t.resolves(fc.assert(property, { numRuns: 500, seed: 16 }))
  t.strictSame([...missing], [], 'everything is reached')
})

/**
 * An application in which `kernel.finish_request` does not fail, each response is a response, and
 * no stream fails: otherwise the error is answered after that event, and then it is dispatched
 * again. Errors whose class cannot be read are left out.
 */
function withoutLateErrors(random: ApplicationSpec): ApplicationSpec {
  const readable = (_key: string, value: unknown) => (value === 'refusing proxy' ? 'error' : value)
  const spec: ApplicationSpec = JSON.parse(JSON.stringify(random), readable)
  const calm = (listener: ListenerSpec): ListenerSpec => ({
    ...listener,
    acts: listener.acts
      .filter(({ act }) => act !== 'ask' || listener.event !== 'FinishRequestEvent')
      .map(act => ('isValid' in act ? { ...act, isValid: true } : act)),
    ending: listener.event === 'FinishRequestEvent' ? { ends: 'returns' } : listener.ending,
  })
  return {
    ...spec,
    isTraced: true,
    listeners: spec.listeners.map(calm),
    spares: spec.spares.map(calm),
    requests: spec.requests.map(request => ({ ...request, streamError: undefined })),
  }
}

/** How often an event was dispatched for each request, by the names of the requests. */
function countDispatches(lines: readonly string[], event: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const line of lines) {
    const [, name = '', request = ''] = /begin (kernel\.\w+) \(request: (request [\d.]+)/.exec(line) ?? []
    if (request !== '') counts[request] = (counts[request] ?? 0) + (name === event ? 1 : 0)
  }
  return counts
}

t.test('kernel.finish_request comes once for each request, kernel.terminate once for each main request', async t => {
  const way = fc.constantFrom('synchronous' as const, 'asynchronous' as const)
  const property = fc.asyncProperty(applications.map(withoutLateErrors), way, async (spec, way) => {
    const lines = await runApplication(spec, way)
    const finished = Object.entries(countDispatches(lines, 'kernel.finish_request'))
    assert.deepStrictEqual(
      finished.filter(([, count]) => count !== 1),
      [],
    )
    const answered = lines.filter(line => line.startsWith('handle() gives')).length
    const terminated = Object.entries(countDispatches(lines, 'kernel.terminate')).filter(([, count]) => count > 0)
    assert.deepStrictEqual(
      terminated.map(([, count]) => count),
      Array(answered).fill(1),
    )
  })
  await t.resolves(fc.assert(property, { numRuns: 200, seed: 16 }))
})

t.test('an answer is a promise only if something was pending; without a promise an error is thrown', async t => {
  const types = [RequestEvent, ControllerEvent, ControllerArgumentsEvent, ResponseEvent, FinishRequestEvent]
  for (const waiting of [undefined, ...types]) {
    const { dispatcher, kernel, request } = createBareKernel()
    for (const type of types) dispatcher.on(type, () => (type === waiting ? Promise.resolve() : undefined))
    const answer = kernel.answer(request)
    t.equal(answer instanceof Promise, waiting !== undefined, waiting?.eventName ?? 'no listener waits')
    t.equal((await answer).body, 'done')
  }
  const failing = () => {
    throw new Error('on purpose')
  }
  const { kernel, request } = createBareKernel(failing)
  t.throws(() => kernel.answer(request, { catchErrors: false }), { message: 'on purpose' })
  const page = kernel.answer(request)
  t.ok(page instanceof Response, 'the page of an error needs no promise, either')
  t.equal((await page).body, 'Internal Server Error\n')
})
