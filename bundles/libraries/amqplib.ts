import { failMessage, followUnit, type UnitStart } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { parseBytes } from './observe-listeners.ts'

/**
 * Each message that a consumer gets is work of its own, until its function, or the promise of the function, is done. It
 * has failed if its function refuses it.
 */
export const amqplib: Library = {
  name: 'amqplib',
  reports: 'units',
  seenBy: 'patch',
  notSeen: 'messages of `get`',
  changes: { 'amqplib/lib/channel_model.js': watchChannels, 'amqplib/lib/callback_model.js': watchChannels },
}

function watchChannels(exports: unknown): void {
  const { prototype } = Object(Object(exports).Channel)
  observeMethod(prototype, 'consume', (_, args) => {
    const [queue, consumer] = args
    if (typeof consumer !== 'function') return
    // The server has ended the consumer if there is no message.
    args[1] = observeCalls(consumer as AnyFunction, (_, [message]) =>
      message === null ? undefined : followUnit(describeMessage(String(queue), message as AmqpMessage)),
    )
  })
  for (const name of ['nack', 'reject']) observeMethod(prototype, name, () => void failMessage({}))
}

/** The documented part of a message. */
interface AmqpMessage {
  readonly content: Buffer
  readonly fields: { readonly consumerTag: string; readonly routingKey: string }
}

function describeMessage(queue: string, { content, fields }: AmqpMessage): UnitStart {
  const { consumerTag: connection, routingKey: event } = fields
  const message = { connection, event, bytes: content.length }
  // The consumer may have been started in a request, which does not cause what it gets.
  return { type: 'message', name: queue === '' ? event : queue, input: parseBytes(content), cause: null, message }
}
