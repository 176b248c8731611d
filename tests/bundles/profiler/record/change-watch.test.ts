import fc from 'fast-check'
import { Headers } from 'sinfonietta'
import {
  createControllerArgumentsEvent,
  createControllerEvent,
  createExceptionEvent,
  createFinishRequestEvent,
  createRequestEvent,
  createResponseEvent,
} from 'sinfonietta/testing'
import { t } from 'tap'
import { AttributeWatch, ChangeWatch, ResponseWatch } from '#bundles/profiler/record/event-trace.ts'
import { toController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'

t.test('set, changed and removed attributes are reported once', async t => {
  const attributes = new Map<string, unknown>([['kept', Number.NaN]])
  const watch = new AttributeWatch(attributes)
  t.strictSame(watch.take(), ['set attribute kept'])
  attributes.set('kept', Number.NaN)
  t.equal(watch.take(), undefined)
  attributes.set('new', undefined)
  t.strictSame(watch.take(), ['set attribute new'])
  attributes.delete('new')
  attributes.set('other', undefined)
  t.strictSame(watch.take(), ['set attribute other', 'removed attribute new'])
  attributes.set('kept', 0)
  t.strictSame(watch.take(), ['changed attribute kept'])
  t.equal(watch.take(), undefined)
})

t.test('a request with more than a hundred attributes is not compared', async t => {
  const attributes = new Map(Array.from({ length: 101 }, (_, index) => [String(index), index]))
  t.equal(new AttributeWatch(attributes).take(), undefined)
})

t.test('the reported changes of attributes equal those of a full comparison', async t => {
  const name = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ name, value: fc.constantFrom(1, 2, undefined) }),
    fc.record({ name, isRemoved: fc.constant(true) }),
  )
  fc.assert(
    fc.property(fc.array(step), steps => {
      const attributes = new Map<string, unknown>()
      const watch = new AttributeWatch(attributes)
      for (const step of steps) {
        const before = new Map(attributes)
        if ('isRemoved' in step) attributes.delete(step.name)
        else attributes.set(step.name, step.value)
        const expected = ['a', 'b', 'c'].flatMap(name => {
          if (before.has(name) && !attributes.has(name)) return [`removed attribute ${name}`]
          if (!before.has(name) && attributes.has(name)) return [`set attribute ${name}`]
          return before.get(name) === attributes.get(name) ? [] : [`changed attribute ${name}`]
        })
        t.strictSame(watch.take() ?? [], expected)
      }
    }),
    { numRuns: 50 },
  )
})

t.test('changes of headers, status and body of a response are reported', async t => {
  const response = Response.html('a')
  const old: [string, string][] = []
  const watch = new ResponseWatch(createResponseEvent({ response }), old)
  t.equal(watch.take(), undefined)
  response.headers.set('ETag', '1')
  response.headers.set('content-type', 'text/plain')
  t.strictSame(watch.take(), ['changed header content-type', 'set header etag'])
  response.headers.append('etag', '2')
  t.strictSame(watch.take(), ['changed header etag'])
  response.headers.set('x-a', '1')
  response.headers.delete('x-a')
  response.headers.set('content-type', 'text/plain')
  t.equal(watch.take(), undefined, 'though the revision has moved')
  response.headers.delete('etag')
  response.status = 404
  response.body = 'b'
  t.strictSame(watch.take(), ['removed header etag', 'changed the status', 'changed the body'])
  t.strictSame(old, [
    ['content-type', 'text/html; charset=UTF-8'],
    ['etag', '1'],
    ['etag', '1\n2'],
  ])
})

t.test('a replaced response is reported as replaced, and the new one is watched', async t => {
  const event = createResponseEvent()
  const watch = new ResponseWatch(event)
  event.response = Response.html('another one')
  t.strictSame(watch.take(), ['replaced the response'])
  event.response.headers.set('x-a', '1')
  t.strictSame(watch.take(), ['set header x-a'])
})

t.test('the reported changes of headers equal those of a full comparison', async t => {
  const name = fc.constantFrom('a', 'B', 'b', 'c')
  const change = fc.record({ how: fc.constantFrom('set', 'append', 'delete'), name, value: fc.constantFrom('1', '2') })
  const group = fc.array(change, { maxLength: 4 })
  fc.assert(
    fc.property(fc.array(group), groups => {
      const response = new Response()
      const { headers } = response
      const old: [string, string][] = []
      const watch = new ResponseWatch(createResponseEvent({ response }), old)
      for (const changes of groups) {
        const before = new Map(['a', 'b', 'c'].map(name => [name, headers.getAll(name).join('\n')]))
        for (const { how, name, value } of changes) {
          if (how === 'delete') headers.delete(name)
          else headers[how === 'set' ? 'set' : 'append'](name, value)
        }
        const expected = Array.from(before).flatMap(([name, old]) => {
          const value = headers.getAll(name).join('\n')
          if (value === old) return []
          return `${old === '' ? 'set' : value === '' ? 'removed' : 'changed'} header ${name}`
        })
        old.length = 0
        t.strictSame((watch.take() ?? []).sort(), expected.sort())
        const lost = expected.filter(change => !change.startsWith('set')).map(change => change.replace(/.* /, ''))
        t.strictSame(
          Object.fromEntries(old),
          Object.fromEntries(lost.map(name => [name, before.get(name.toLowerCase())])),
        )
      }
    }),
    { numRuns: 100 },
  )
})

t.test('the revision of headers changes with each difference that a comparison finds', async t => {
  const name = fc.constantFrom('a', 'B', 'b', 'c')
  const change = fc.record({ how: fc.constantFrom('set', 'append', 'delete'), name, value: fc.constantFrom('1', '2') })
  fc.assert(
    fc.property(fc.array(change), changes => {
      const headers = new Headers()
      for (const { how, name, value } of changes) {
        const { revision } = headers
        const before = JSON.stringify(headers.toRaw())
        if (how === 'set') headers.set(name, value)
        else if (how === 'append') headers.append(name, value)
        else headers.delete(name)
        if (JSON.stringify(headers.toRaw()) !== before) t.not(headers.revision, revision)
      }
    }),
    { numRuns: 50 },
  )
})

t.test('a replaced controller, response or error is reported', async t => {
  const watch = new ChangeWatch(new Map())
  const handler = () => undefined
  const controller = createControllerEvent(handler)
  watch.follow(controller)
  t.equal(watch.take(), undefined)
  controller.controller = toController(handler)
  t.strictSame(watch.take(), ['replaced the controller'])

  const values = createControllerArgumentsEvent(handler, [])
  watch.follow(values)
  values.controller = toController(handler)
  t.strictSame(watch.take(), ['replaced the controller'])

  const request = createRequestEvent()
  watch.follow(request)
  request.respond(new Response())
  t.strictSame(watch.take(), ['set the response'])
  request.response?.headers.set('x-a', '1')
  t.strictSame(watch.take(), ['set header x-a'])
  request.respond(new Response())
  t.strictSame(watch.take(), ['replaced the response'])

  const exception = createExceptionEvent(new Error('one'))
  watch.follow(exception)
  exception.error = new Error('another')
  exception.respond(new Response())
  t.strictSame(watch.take(), ['set the response', 'replaced the error'])

  watch.follow(createFinishRequestEvent())
  t.equal(watch.take(), undefined)
})

t.test('only the first of very many changes are reported', async t => {
  const attributes = new Map(Array.from({ length: 60 }, (_, index) => [String(index), index]))
  const changes = new ChangeWatch(attributes).take()
  t.equal(changes?.length, 51)
  t.equal(changes?.at(-1), 'and 10 more')
})
