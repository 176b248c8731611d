import { channel } from 'node:diagnostics_channel'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { FileChanges } from './publish.ts'

/** A client of ioredis, as far as it is used. */
interface RedisClient {
  readonly status?: unknown
}

/** Have a command when it is sent first, before the connection is ready, and whenever it is sent again. */
const queued = channel('sinfonietta:ioredis:queued')
const resent = channel('sinfonietta:ioredis:resent')
const sent = channel('sinfonietta:ioredis:sent')

const waiting = new WeakSet<object>()

/** ioredis is CommonJS also for ES modules. It publishes a command that has waited for the connection when it is sent, outside of its request. */
export const ioredisFiles: FileChanges = {
  'ioredis/built/Redis.js': exports =>
    void observeMethod(Object(Object(exports).default).prototype, 'sendCommand', (client, [command]) => {
      const item = Object(command)
      if (waiting.has(item)) {
        resent.publish(item)
        return {
          after(result) {
            sent.publish(item)
            return result
          },
        }
      }
      if ((client as RedisClient).status !== 'ready' && queued.hasSubscribers) {
        waiting.add(item)
        queued.publish(item)
      }
      return undefined
    }),
}
