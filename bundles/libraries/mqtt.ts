import type { UnitStart } from '../../kernel/contracts/units.ts'
import type { Library } from './library.ts'
import { observeListeners, parseBytes } from './observe-listeners.ts'

/**
 * Each message that a client receives is work of its own, until its listener, or the promise of the listener, is done.
 */
export const mqtt: Library = {
  name: 'mqtt',
  reports: 'units',
  seenBy: 'patch',
  notSeen: '`once` and `handleMessage`',
  changes: {
    'mqtt/build/lib/client.js': exports => watchClients(Object(exports).default),
    // Version 5.0.0, and those before it.
    'mqtt/build/src/lib/client.js': exports => watchClients(Object(exports).default),
    'mqtt/lib/client.js': watchClients,
  },
}

function watchClients(client: unknown): void {
  observeListeners(Object(client).prototype, (_, event) => event === 'message', describeMessage)
}

function describeMessage(client: object, _: string, [topic, payload]: readonly unknown[]): UnitStart {
  const { clientId } = Object(Object(client).options)
  const bytes = Buffer.isBuffer(payload) ? payload.length : undefined
  // A client may have connected in a request, which does not cause what it receives.
  const message = { connection: String(clientId), bytes }
  return { type: 'message', name: String(topic), input: parseBytes(payload), cause: null, message }
}
