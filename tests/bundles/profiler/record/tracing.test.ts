import { FinishRequestEvent, ResponseEvent } from 'sinfonietta'
import { t } from 'tap'
import type { CollectorTypes } from '#bundles/profiler/profile/profile.ts'
import { defineController } from '#kernel/controller.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import type { StoredProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

type SpanRow = NonNullable<CollectorTypes['events']['spans'][number]>

interface TraceData {
  readonly spans: readonly SpanRow[]
  readonly dropped: number
}

function spansOf({ profile }: StoredProfile): readonly SpanRow[] {
  // The collector of this name returns this type.
  return (profile.data.events as TraceData).spans
}

function namesOf(stored: StoredProfile): string[] {
  return spansOf(stored).map(([, name]) => name)
}

t.test('a page is recorded from its first event to its last, each with its listeners', async t => {
  const { client, storedOf } = await createProfiledKernel(t)
  const response = await client.get('/star-photo-booth')
  const stored = await storedOf(response)
  const dispatched = spansOf(stored).flatMap(([mark, name]) => (mark === null ? [name] : []))
  t.strictSame(dispatched, [
    'kernel.request',
    'kernel.controller',
    'kernel.controller_arguments',
    'kernel.response',
    'kernel.finish_request',
    'kernel.terminate',
  ])
  t.ok(spansOf(stored).every(([, , , duration]) => duration !== null))
  const router = spansOf(stored).find(([, name]) => name === 'RouterListener.onRequest')
  const attributes = ['_stateless', '_route', '_route_params', '_controller']
  t.strictSame(
    router?.[6],
    attributes.map(name => `set attribute ${name}`),
  )
  const robots = spansOf(stored).find(([, name]) => name === 'RobotsListener.onResponse')
  t.strictSame(robots?.[6], ['set header x-robots-tag'])
})

t.test('a failed request shows where its error page was made; the error page has its own tree', async t => {
  const { client, storedOf, show } = await createProfiledKernel(t)
  const { headers } = await client.get('/nope')
  const main = await storedOf({ headers })
  const sub = await storedOf({ headers }, 'x-previous-debug-token')

  const mark = spansOf(main).find(([mark]) => mark === 'request')
  t.equal(mark?.[1], sub.profile.summary.token)
  t.equal(spansOf(main)[Number(mark?.[4])]?.[1], 'ErrorListener.onException')
  t.type(mark?.[3], 'number')
  t.equal(namesOf(main).filter(name => name === 'kernel.request').length, 1)
  t.equal(namesOf(sub).at(0), 'kernel.request')
  t.equal(namesOf(sub).at(-1), 'kernel.finish_request')
  t.notOk(namesOf(sub).includes('kernel.exception'))

  const events = await show('events', main)
  for (const text of [
    'Dispatched Events',
    'Called Listeners',
    'Not Called Listeners',
    'Orphaned Events',
    'Priority',
    'Listener',
    'kernel.request',
    'kernel.exception',
    'kernel.response',
    'kernel.finish_request',
    'stopped propagation',
    'threw',
    'Sub-Request error',
    `/_profiler/${sub.profile.summary.token}?panel&#x3D;events`,
  ]) {
    t.ok(events.includes(text), text)
  }
  const logs = await show('logger', main)
  for (const text of ['Log Messages', 'Uncaught', 'Notified event', 'stopped propagation of the event']) {
    t.ok(logs.includes(text), text)
  }
  t.notMatch(await show('logger', sub), 'Uncaught')
  const time = await show('time', main)
  for (const text of [
    'Performance metrics',
    'Total execution time',
    'Heap at the end',
    'Peak memory usage',
    'Sub-Request',
    'Execution timeline',
    'Threshold',
  ]) {
    t.ok(time.includes(text), text)
  }
  t.match(await show('time', sub), main.profile.summary.token, 'it leads to the main request')
})

t.test('events of bundles are in the request in which they were dispatched', async t => {
  const { client, storedOf } = await createProfiledKernel(t)
  const [, { headers }] = await Promise.all([client.get('/slow/3'), client.get('/events')])
  const stored = await storedOf({ headers })
  const names = namesOf(stored)
  const at = names.indexOf('probe.happened')
  t.equal(names[at - 1], 'kernel.controller_arguments')
  t.strictSame(spansOf(stored)[at]?.[6], ['anonymous'])
  t.equal(spansOf(stored)[at]?.[4], -1, 'the controller has dispatched it')
})

t.test('a listener that throws is marked, and its request goes on with the exception', async t => {
  const { client, expectProfile, storedOf } = await createProfiledKernel(t, {
    register({ dispatcher }) {
      let isFirst = true
      dispatcher.on(
        FinishRequestEvent,
        async () => {
          if (isFirst) {
            isFirst = false
            throw new Error('at the end')
          }
        },
        0,
        'thrower',
      )
    },
  })
  const response = await client.get('/star-photo-booth')
  const threw = spansOf(await storedOf(response)).filter(row => row[5] === 2)
  t.strictSame(
    threw.map(([, name]) => name),
    ['kernel.finish_request', 'thrower'],
  )
  const profile = await expectProfile(response)
  profile.threw('Error', 'at the end').dispatched(FinishRequestEvent, 2).called('thrower', 2)
})

t.test('concurrent requests have separate events, logs and measurements', async t => {
  const { client, expectProfile } = await createProfiledKernel(t, {
    register({ dispatcher, logger, routes }) {
      routes.add({
        name: 'busy',
        path: '/busy/:id',
        controller: defineController('busy', async request => {
          const id = String(request.attributes.get('_route_params')?.id)
          const end = request.stopwatch.start(`work ${id}`)
          await new Promise(resolve => setTimeout(resolve, Number(id) % 5))
          logger.warning('Busy with {id}.', { id })
          end()
          return Response.text(id)
        }),
      })
      dispatcher.on(ResponseEvent, async () => void (await new Promise(setImmediate)), 0, 'waiting')
    },
  })
  const ids = Array.from({ length: 20 }, (_, index) => String(index))
  const responses = await Promise.all(ids.map(id => client.get(`/busy/${id}`)))
  for (const [index, response] of responses.entries()) {
    t.equal(response.text, String(index))
    const profile = await expectProfile(response)
    profile.called('waiting', 1).logged('debug', undefined, 2).logged('warning', `Busy with ${index}.`, 1)
    t.hasStrict(profile.dataOf('time'), { measured: [{ name: `work ${index}` }], dropped: 0 })
    t.match(profile.dataOf('logger'), { records: [{}, { site: { file: /tests/ } }] })
    t.hasStrict(profile.profile.summary, { warnings: 1, errors: 0 })
  }
})

t.test('measurements of a sub-request are in its own profile', async t => {
  const { client, storedOf } = await createProfiledKernel(t, {
    register({ kernel, routes }) {
      const inner = defineController('inner', request => {
        request.stopwatch.start('left running')
        return Response.text('inner')
      })
      routes.add({
        name: 'outer',
        path: '/outer',
        controller: defineController('outer', request => kernel.forward(request, inner)),
      })
    },
  })
  const { headers, request } = await client.get('/outer')
  t.equal(request.requestedStopwatch, undefined)
  const main = await storedOf({ headers })
  t.notHas(main.profile.data, 'time', 'it has measured nothing itself')
  const sub = await storedOf({ headers }, 'x-previous-debug-token')
  t.hasStrict(sub.profile.data.time, { measured: [{ name: 'left running', isRunning: true }] })
})

t.test('events and logs outside of requests belong to no request', async t => {
  class Happening extends Event {
    static readonly eventName = 'happening'
  }
  const { app } = await createProfiledKernel(t)
  let heard = 0
  app.dispatcher.on(Happening, () => {
    heard++
    app.logger.error('Outside of a request.')
  })
  await app.dispatcher.dispatch(new Happening())
  t.equal(heard, 1)
})
