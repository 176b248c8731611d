import { findToken, type UnitStart } from '../../kernel/contracts/units.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { observeListeners } from './observe-listeners.ts'
import { leaveSocket } from './ws.ts'

/** Each event of a client is work of its own. */
export const socketIo: Library = {
  name: 'socket.io',
  reports: 'units',
  seenBy: 'patch',
  notSeen: '`once` and `onAny`; sizes',
  changes: {
    'socket.io/dist/socket.js': exports =>
      observeListeners(
        Object(Object(exports).Socket).prototype,
        (_, event) => typeof event === 'string' && !ownEvents.has(event),
        describeEvent,
      ),
    'engine.io/build/server.js': exports =>
      void observeMethod(
        Object(Object(exports).Server).prototype,
        'onWebSocket',
        (_, [, , socket]) => void leaveSocket(Object(socket)),
      ),
  },
}

/** Events of the library itself. */
const ownEvents = new Set(['disconnect', 'disconnecting', 'error', 'newListener', 'removeListener'])

/** The socket of a client, in a namespace. */
interface IoSocket {
  readonly id: string
  readonly nsp: { readonly name: string }
  /** The message of the request that has begun the connection. */
  readonly request: object
}

function describeEvent(socket: object, event: string, values: readonly unknown[]): UnitStart {
  const { id, nsp, request } = socket as IoSocket
  // The last value may be the function that answers.
  const given = values.filter(value => typeof value !== 'function')
  const input = given.length > 1 ? given : given[0]
  const name = nsp.name === '/' ? event : `${nsp.name} ${event}`
  return { type: 'message', name, input, cause: findToken(request), message: { connection: id, event } }
}
