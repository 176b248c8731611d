import { t } from 'tap'
import type { ControllerArgumentsEvent } from '../../kernel/events/controller-arguments-event.ts'
import { createControllerArgumentsEvent } from '../../kernel/testing/event-factories.ts'

class TrimListener {
  onArguments(event: ControllerArgumentsEvent): void {
    event.arguments = event.arguments.map(value => (typeof value === 'string' ? value.trim() : value))
  }
}

t.test('kernel.controller_arguments: texts reach the controller without spaces around them', async t => {
  const event = createControllerArgumentsEvent(undefined, [' Ada ', 7])
  new TrimListener().onArguments(event)
  t.strictSame(event.arguments, ['Ada', 7])
})
