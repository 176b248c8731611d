import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerArgumentsEvent } from 'sinfonietta'
import { createControllerArgumentsEvent } from 'sinfonietta/testing'

class TrimListener {
  onArguments(event: ControllerArgumentsEvent): void {
    event.arguments = event.arguments.map(value => (typeof value === 'string' ? value.trim() : value))
  }
}

test('kernel.controller_arguments: texts reach the controller without spaces around them', () => {
  const event = createControllerArgumentsEvent(undefined, [' Ada ', 7])
  new TrimListener().onArguments(event)
  assert.deepEqual(event.arguments, ['Ada', 7])
})
