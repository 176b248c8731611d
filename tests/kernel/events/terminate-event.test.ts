import { t } from 'tap'
import { TerminateEvent } from '../../../kernel/events/terminate-event.ts'
import { createBareKernel, createRequest } from '../../../kernel/testing/event-factories.ts'
import { RecordingDispatcher } from '../../../kernel/testing/recording-dispatcher.ts'
import { createEventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../../lib/http/response.ts'
import { createRecorder } from '../../support/recording-logger.ts'

t.test('listeners are told request and response, by priority, and are waited for', async t => {
  const dispatcher = createEventDispatcher()
  const request = createRequest()
  const response = new Response('sent')
  const heard: unknown[] = []
  dispatcher.on(TerminateEvent, event => void heard.push(event.response, event.isMainRequest), -1)
  dispatcher.on(TerminateEvent, async event => {
    await new Promise(setImmediate)
    heard.push(event.request)
  })
  await createBareKernel(dispatcher).terminate(request, response)
  t.strictSame(heard, [request, response, true])
})

t.test('stopPropagation keeps the rest from running', async t => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(TerminateEvent, event => event.stopPropagation(), 1, 'stopper')
  dispatcher.on(TerminateEvent, () => t.fail('must not run'), 0, 'never called')
  await createBareKernel(dispatcher).terminate(createRequest(), new Response())
  t.hasStrict(dispatcher.last(TerminateEvent), { stoppedBy: 'stopper', skipped: ['never called'] })
})

t.test('a listener that throws is logged, and hurts nobody', async t => {
  const dispatcher = createEventDispatcher()
  const { logger, records } = createRecorder()
  dispatcher.on(TerminateEvent, () => {
    throw new Error('too late')
  })
  await createBareKernel(dispatcher, undefined, logger).terminate(createRequest(), new Response())
  t.hasStrict(records, [
    {
      level: 'critical',
      message: 'A listener of kernel.terminate failed.',
      context: { exception: { message: 'too late' } },
    },
  ])
})
