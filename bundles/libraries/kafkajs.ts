import { followUnit, type UnitStart } from '../../kernel/contracts/units.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { parseBytes } from './observe-listeners.ts'

/** Each message that a consumer gets, or each batch, is work of its own, until its promise is settled. */
export const kafkajs: Library = {
  name: 'kafkajs',
  reports: 'units',
  seenBy: 'patch',
  notSeen: 'of a batch, each of its messages',
  changes: {
    'kafkajs/src/consumer/runner.js': exports =>
      void observeMethod(Object(exports).prototype, 'start', self => {
        const runner = self as KafkaRunner
        if (watched.has(runner)) return
        watched.add(runner)
        observeMethod(runner, 'eachMessage', (_, [given]) => {
          const { message, topic } = given as { readonly message: KafkaMessage; readonly topic: string }
          return followUnit(describeMessages(runner, topic, [message]))
        })
        observeMethod(runner, 'eachBatch', (_, [given]) => {
          const { messages, topic } = Object(given).batch
          return followUnit(describeMessages(runner, topic, messages))
        })
      }),
  },
}

/** What runs the functions of a consumer. */
interface KafkaRunner {
  readonly consumerGroup: { readonly memberId: string }
}

const watched = new WeakSet<KafkaRunner>()

/** The documented part of a message. */
interface KafkaMessage {
  readonly value: Buffer | null
}

function describeMessages({ consumerGroup }: KafkaRunner, topic: string, messages: readonly KafkaMessage[]): UnitStart {
  const values = messages.map(({ value }) => parseBytes(value))
  const bytes = messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
  const message = { connection: consumerGroup.memberId, bytes }
  // The consumer may have been started in a request, which does not cause what it gets.
  return { type: 'message', name: topic, input: values.length === 1 ? values[0] : values, cause: null, message }
}
