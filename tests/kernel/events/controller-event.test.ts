import { ControllerEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { toController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'

t.test('listeners see the controller that was found, by priority', async t => {
  const { kernel, dispatcher, request } = createBareKernel(function home() {
    return new Response()
  })
  const heard: string[] = []
  dispatcher.on(ControllerEvent, event => void heard.push(`second ${event.controller.name}`))
  dispatcher.on(ControllerEvent, event => void heard.push(`first ${event.controller.name}`), 5)
  await kernel.handle(request)
  t.strictSame(heard, ['first home', 'second home'])
})

t.test('a listener may put another controller in its place, also after an await', async t => {
  const { kernel, dispatcher, request } = createBareKernel(() => t.fail('must not run'))
  dispatcher.on(ControllerEvent, async event => {
    await new Promise(setImmediate)
    event.controller = toController(({ path }) => new Response(`instead of ${path}`))
  })
  t.equal((await kernel.handle(request)).body, 'instead of /here')
})

t.test('stopPropagation keeps the rest from running, not the controller', async t => {
  const { kernel, dispatcher, request } = createBareKernel()
  dispatcher.on(ControllerEvent, event => event.stopPropagation(), 1)
  dispatcher.on(ControllerEvent, () => t.fail('must not run'))
  t.equal((await kernel.handle(request)).body, 'done')
})

t.test('a listener that throws keeps the controller from running', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(() => t.fail('must not run'))
  dispatcher.on(ControllerEvent, () => {
    throw new Error('not this one')
  })
  t.equal((await kernel.handle(request)).status, 500)
  t.strictSame(sequence, ['kernel.request', 'kernel.controller', 'kernel.exception', 'kernel.finish_request'])
})
