import { EventEmitter } from 'node:events'
import { t } from 'tap'
import { mqtt } from '#bundles/libraries/mqtt.ts'
import { observeUnits, type UnitStart } from '#kernel/contracts/units.ts'

// The proof has the real package, with a broker.
t.test('the clients of all versions of mqtt report what they receive', async t => {
  const found: UnitStart[] = []
  const begin = (start: UnitStart) => void found.push(start)
  t.teardown(observeUnits({ begin, noteJob: () => undefined, findToken: () => undefined }))
  for (const [file, change] of Object.entries(mqtt.changes ?? {})) {
    class Client extends EventEmitter {
      readonly options = { clientId: 'worker' }
    }
    change(file.startsWith('mqtt/lib/') ? Client : { default: Client }, file)
    const client = new Client()
    const received: unknown[] = []
    client.on('message', (...values) => received.push(values))
    client.on('close', () => received.push('closed'))
    const binary = Buffer.from([0xff])
    for (const payload of [Buffer.from('{"a":1}'), binary]) client.emit('message', 'orders/1', payload)
    client.emit('close')
    const message = { type: 'message', name: 'orders/1', cause: null }
    t.strictSame(
      found.splice(0),
      [
        { ...message, input: { a: 1 }, message: { connection: 'worker', bytes: 7 } },
        { ...message, input: binary, message: { connection: 'worker', bytes: 1 } },
      ],
      file,
    )
    t.equal(received.length, 3)
  }
})
