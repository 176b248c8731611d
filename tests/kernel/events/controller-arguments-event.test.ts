import { ControllerArgumentsEvent } from 'sinfonietta'
import { createBareKernel, createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { queryValue } from '#kernel/argument-sources.ts'
import { defineController, toController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'

const greet = defineController('greet', { name: queryValue() }, ({ name }) => new Response(`hello ${name}`))

t.test('listeners see the resolved arguments, by priority, and may replace them', async t => {
  const { kernel, dispatcher } = createBareKernel()
  const request = createRequest('/?name=ada')
  request.attributes.set('_controller', greet)
  const heard: unknown[] = []
  dispatcher.on(ControllerArgumentsEvent, event => void heard.push('last', ...event.arguments), -1)
  dispatcher.on(ControllerArgumentsEvent, async event => {
    await new Promise(setImmediate)
    heard.push(event.controller.name, ...event.arguments)
    event.arguments = [{ name: 'grace' }]
  })
  t.equal((await kernel.handle(request)).body, 'hello grace')
  t.strictSame(heard, ['greet', { name: 'ada' }, request, 'last', { name: 'grace' }])
})

t.test('a listener may still replace the controller', async t => {
  const { kernel, dispatcher, request } = createBareKernel(() => t.fail('must not run'))
  dispatcher.on(ControllerArgumentsEvent, event => {
    event.controller = toController(() => new Response('instead'))
  })
  t.equal((await kernel.handle(request)).body, 'instead')
})

t.test('arguments that cannot be resolved never reach the listeners', async t => {
  const { kernel, dispatcher } = createBareKernel()
  const request = createRequest('/')
  request.attributes.set('_controller', greet)
  dispatcher.on(ControllerArgumentsEvent, () => t.fail('must not run'))
  await kernel.handle(request)
})
