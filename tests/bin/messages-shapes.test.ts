import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { type Test, t } from 'tap'
import { amqplib } from '#bundles/libraries/amqplib.ts'
import { kafkajs } from '#bundles/libraries/kafkajs.ts'
import { mqtt } from '#bundles/libraries/mqtt.ts'
import { nest } from '#bundles/libraries/nest.ts'
import { observeUnits, type UnitStart } from '#kernel/contracts/units.ts'

// The proof has the real packages, with their brokers.

/** What is reported until the test ends. */
function collect(t: Test) {
  const found: UnitStart[] = []
  let failed = 0
  const begin = (start: UnitStart) => void found.push(start)
  const fail = () => void failed++
  t.teardown(observeUnits({ begin, fail, noteJob: () => undefined, findToken: () => undefined }))
  return { found, countFailed: () => failed }
}

t.test('the clients of all versions of mqtt report what they receive', async t => {
  const { found } = collect(t)
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

t.test('the consumers of amqplib report what they get, and what they refuse', async t => {
  const { countFailed, found } = collect(t)
  for (const [file, change] of Object.entries(amqplib.changes ?? {})) {
    class Channel {
      consumers: unknown[] = []
      consume(_: string, consumer?: unknown) {
        this.consumers.push(consumer)
      }
      nack() {}
      reject() {}
    }
    change({ Channel }, file)
    const channel = new Channel()
    const received: unknown[] = []
    for (const queue of ['orders', '']) channel.consume(queue, (message: unknown) => received.push(message))
    channel.consume('nothing')
    const given = { content: Buffer.from('{"a":1}'), fields: { consumerTag: 'tag', routingKey: 'order.new' } }
    for (const each of channel.consumers.slice(0, 2) as ((message: unknown) => void)[]) {
      each(given)
      // The server has ended the consumer.
      each(null)
    }
    const start = { type: 'message', input: { a: 1 }, cause: null }
    const message = { connection: 'tag', event: 'order.new', bytes: 7 }
    t.strictSame(found.splice(0), [
      { ...start, name: 'orders', message },
      { ...start, name: 'order.new', message },
    ])
    t.strictSame(received, [given, null, given, null])
    channel.nack()
    channel.reject()
  }
  t.equal(countFailed(), 4)
})

t.test('the consumers of kafkajs report messages, or batches of them', async t => {
  const { found } = collect(t)
  const [change] = Object.values(kafkajs.changes ?? {})
  const received: unknown[] = []
  class Runner {
    readonly consumerGroup = { memberId: 'member' }
    readonly eachMessage = (given: object) => received.push(given)
    readonly eachBatch = (given: object) => received.push(given)
    start() {}
  }
  change?.(Runner, '')
  const runner = new Runner()
  runner.start()
  runner.start()
  const [first, second] = [{ value: Buffer.from('one') }, { value: null }]
  runner.eachMessage({ topic: 'orders', message: first })
  runner.eachBatch({ batch: { topic: 'orders', messages: [first, second] } })
  const start = { type: 'message', name: 'orders', cause: null, message: { connection: 'member', bytes: 3 } }
  t.strictSame(found, [
    { ...start, input: 'one' },
    { ...start, input: ['one', null] },
  ])
  t.equal(received.length, 2)
})

t.test('microservices of Nest report their messages, unless a library or a server of gRPC does', async t => {
  const { countFailed, found } = collect(t)
  const folder = t.testdir({
    'index.js': '',
    'package.json': '{}',
    enums: { 'transport.enum.js': "exports.Transport = { 0: 'TCP', 1: 'REDIS', 4: 'GRPC', 6: 'KAFKA' }" },
    server: {
      'server.js': `exports.Server = class {
        constructor(transportId) { Object.assign(this, { transportId, handlers: new Map() }) }
        addHandler(pattern, handler) { this.handlers.set(pattern, handler) }
      }`,
    },
    context: {
      'rpc-proxy.js': 'exports.RpcProxy = class { handleError(filters, args, error) { return error.message } }',
    },
  })
  await nest.opens?.['@nestjs/microservices']?.(folder)
  const require = createRequire(`${folder}/`)
  const { Server } = require('./server/server.js')
  const results: unknown[] = []
  for (const transport of [0, 1, 4, 6, undefined]) {
    const server = new Server(transport)
    for (const pattern of ['sum', { cmd: 'sum' }]) {
      server.addHandler(pattern, async (data: readonly number[]) => data.length)
      results.push(await server.handlers.get(pattern)([1, 2]))
    }
  }
  const start = { type: 'message', input: [1, 2], cause: null }
  const both = ['sum', '{"cmd":"sum"}'].map(name => ({ ...start, name }))
  t.strictSame(found, [...both, ...both])
  t.strictSame(results, Array(10).fill(2))
  const { RpcProxy } = require('./context/rpc-proxy.js')
  t.equal(new RpcProxy().handleError({}, [], new Error('no')), 'no')
  t.equal(countFailed(), 1)
})
