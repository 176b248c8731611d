import { findToken, type UnitStart } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'
import { observeListeners, parseText } from './observe-listeners.ts'

/**
 * Each message that a server receives is work of its own, until its listener, or the promise of the listener, is done.
 */
export const ws: Library = {
  name: 'ws',
  reports: 'units',
  seenBy: 'patch',
  notSeen: 'messages of clients; `once`, and what follows an iterator',
  changes: {
    'ws/lib/websocket-server.js': exports =>
      void observeMethod(Object(exports).prototype, 'completeUpgrade', watchUpgrade),
    'ws/lib/websocket.js': exports =>
      observeListeners(
        Object(exports).prototype,
        (socket, event) => event === 'message' && connections.has(socket),
        describeMessage,
      ),
  },
}

/** The socket of a server, as it was opened. */
interface Connection {
  /** The same for all messages of a socket. */
  readonly id: string
  readonly path: string
  /** The token of the upgrade's profile. */
  readonly cause: string | undefined
}

const connections = new WeakMap<object, Connection>()
let opened = 0

/** The last argument is called with the socket, and with the message of the upgrade. */
function watchUpgrade(_: unknown, args: unknown[]): undefined {
  const at = args.findLastIndex(each => typeof each === 'function')
  if (at === -1) return
  args[at] = observeCalls(args[at] as AnyFunction, (_, [socket, message]) => {
    const [path = ''] = String(Object(message).url).split('?')
    connections.set(Object(socket), { id: String(++opened), path, cause: findToken(Object(message)) ?? findToken() })
  })
}

/** Another library sends its own messages through a socket, and reports them itself. */
export function leaveSocket(socket: object): void {
  connections.delete(socket)
}

function describeMessage(socket: object, _: string, [data, isBinary]: readonly unknown[]): UnitStart {
  const { cause, id, path } = connections.get(socket) ?? { id: '', path: '' }
  const bytes = measureBytes(data)
  const text = isBinary === true ? undefined : String(data)
  const input = text === undefined ? data : parseText(text)
  const event = readEvent(input)
  const name = event === undefined ? path : `${path} ${event}`
  return { type: 'message', name, input, cause, message: { connection: id, event, bytes } }
}

function measureBytes(data: unknown): number | undefined {
  if (Array.isArray(data)) return data.reduce<number>((sum, part) => sum + (measureBytes(part) ?? 0), 0)
  const { byteLength, size } = Object(data)
  return typeof byteLength === 'number' ? byteLength : size
}

/** Most protocols of JSON name their events by one of these fields. */
function readEvent(input: unknown): string | undefined {
  const { event, type } = Object(input)
  return [event, type].find(name => typeof name === 'string' && /^[\w.:/-]{1,60}$/.test(name))
}
