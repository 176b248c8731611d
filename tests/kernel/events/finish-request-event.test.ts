import { FinishRequestEvent } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'
import { t } from 'tap'

t.test('it is dispatched after the response is complete, by priority, once', async t => {
  const { kernel, dispatcher, request, sequence } = createBareKernel()
  const heard: string[] = []
  dispatcher.on(FinishRequestEvent, () => void heard.push('second'), -1)
  dispatcher.on(FinishRequestEvent, async () => {
    await new Promise(setImmediate)
    heard.push('first')
  })
  await kernel.handle(request)
  t.strictSame(heard, ['first', 'second'])
  t.strictSame(sequence.slice(-2), ['kernel.response', 'kernel.finish_request'])
})

t.test('it is also dispatched when an error is not answered', async t => {
  const { kernel, request, sequence } = createBareKernel(() => {
    throw new Error('lost')
  })
  await kernel.handle(request)
  t.equal(sequence.at(-1), 'kernel.finish_request')
})
