import { ControllerArgumentsEvent, ControllerEvent, FinishRequestEvent, RequestEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'

/** The events of a request without a failure, and what follows a listener that throws. */
const events = [
  [RequestEvent, ['kernel.request', 'kernel.exception', 'kernel.finish_request']],
  [ControllerEvent, ['kernel.request', 'kernel.controller', 'kernel.exception', 'kernel.finish_request']],
  [ControllerArgumentsEvent, ['kernel.controller_arguments', 'kernel.exception', 'kernel.finish_request']],
  [FinishRequestEvent, ['kernel.exception']],
] as const

for (const [event, follows] of events) {
  const { eventName } = event
  t.test(`${eventName}: stopPropagation keeps the other listeners from running, not the controller`, async t => {
    const { kernel, dispatcher, request } = createBareKernel()
    dispatcher.on(event, each => each.stopPropagation(), 1)
    dispatcher.on(event, () => t.fail('must not run'))
    t.equal((await kernel.handle(request)).body, 'done')
  })

  for (const isLater of [false, true]) {
    const what = isLater ? 'rejects' : 'throws'
    t.test(`${eventName}: a listener that ${what} leads to kernel.exception, and to an answer`, async t => {
      const controller = event === FinishRequestEvent ? undefined : () => t.fail('must not run')
      const { kernel, dispatcher, request, sequence } = createBareKernel(controller)
      dispatcher.on(event, () => {
        const error = new Error('refused')
        if (isLater) return Promise.reject(error)
        throw error
      })
      t.equal((await kernel.handle(request)).status, 500)
      const first = sequence.indexOf(follows[0])
      t.strictSame(sequence.slice(first, first + follows.length), follows)
    })
  }
}
