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
