import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import amqplib from 'amqplib'
import { Kafka, logLevel } from 'kafkajs'
import { type Test, t } from 'tap'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksKafka, lacksRabbit, startKafka, startRabbit } from '#tests/support/start-brokers.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Messages at once. */
const count = 60

/**
 * Answers each message by its number, after an HTTP client call and a line of the console with it. A request has
 * connected the client. Each failing message fails once.
 */
const work = `
import { once } from 'node:events'
import http from 'node:http'
process.on('unhandledRejection', () => undefined)
let connect
async function answer(request, reply) {
  if (request.url === '/connect') await connect()
  reply.end('inner')
}
const server = http.createServer(answer)
await once(server.listen(0, '127.0.0.1'), 'listening')
const ports = [server.address().port]
const inner = 'http://127.0.0.1:' + ports[0]
const failed = new Set()
async function work(topic, payload) {
  if (topic.endsWith('binary')) return
  const { number, fails } = JSON.parse(payload)
  await (await fetch(inner + '/inner?number=' + number)).text()
  await new Promise(resolve => setTimeout(resolve, number % 7))
  console.log('number', number)
  if (fails && !failed.has(number)) {
    failed.add(number)
    throw new Error('no such number')
  }
  return number
}
process.stdin.on('end', () => process.exit()).resume()
`

const listening = `
await fetch(inner + '/connect')
console.log(JSON.stringify(ports))
`

const mqttSource = `
import net from 'node:net'
import { Aedes } from 'aedes'
import mqtt from 'mqtt'
const broker = await Aedes.createBroker()
const broken = net.createServer(broker.handle)
await once(broken.listen(0, '127.0.0.1'), 'listening')
ports.push(broken.address().port)
connect = async () => {
  const client = mqtt.connect('mqtt://127.0.0.1:' + ports[1], { clientId: 'worker' })
  client.on('message', work)
  const never = () => process.exit(1)
  client.on('message', never)
  if (client.listeners('message')[1] !== never) process.exit(1)
  client.off('message', never)
  client.once('message', () => undefined)
  await new Promise(resolve => client.subscribe('orders/#', { qos: 2 }, resolve))
}
`

const amqpSource = `
import { connect as open } from 'amqplib'
import callbacks from 'amqplib/callback_api'
const url = 'amqp://127.0.0.1:' + process.env.BROKER
connect = async () => {
  const channel = await (await open(url)).createChannel()
  const queues = ['orders/even', 'orders/odd', 'orders/binary', 'orders/refused']
  for (const queue of queues) await channel.assertQueue(queue)
  const consume = queue => async message => {
    if (queue === 'orders/refused') return channel.nack(message, false, false)
    const result = await work(queue, message.content)
    channel.ack(message)
    return result
  }
  for (const queue of ['orders/odd', 'orders/refused'])
    await channel.consume(queue, consume(queue))
  callbacks.connect(url, (_, connection) => connection.createChannel((_, other) => {
    for (const queue of ['orders/even', 'orders/binary']) other.consume(queue, async message => {
      const result = await work(queue, message.content)
      other.ack(message)
      return result
    })
  }))
}
`

const kafkaSource = `
import { Kafka, logLevel } from 'kafkajs'
connect = async () => {
  const kafka = new Kafka({ clientId: 'worker', brokers: ['127.0.0.1:' + process.env.BROKER], logLevel: logLevel.NOTHING })
  const start = async (groupId, topics, run) => {
    const consumer = kafka.consumer({ groupId, retry: { initialRetryTime: 10 } })
    await consumer.connect()
    await consumer.subscribe({ topics, fromBeginning: true })
    await consumer.run(run)
  }
  await start('single', ['orders-even', 'orders-odd'], {
    partitionsConsumedConcurrently: 4,
    eachMessage: ({ message, topic }) => work(topic, message.value),
  })
  await start('batches', ['orders-binary'], { eachBatch: async ({ batch }) => work(batch.topic, '') })
}
`

/** What sends messages. */
interface Publisher {
  publish(topic: string, payload: Buffer): unknown
  /** Between the parts of the name of a topic. */
  readonly separator: '/' | '-'
  /** How often the message is done that fails once. */
  readonly attempts: number
}

interface MessageData {
  readonly unit: {
    readonly cause?: string
    readonly input: unknown
    readonly message: { readonly connection: string; readonly bytes: number }
  }
  readonly http: { readonly calls: readonly { readonly url: string }[] }
  readonly console: { readonly entries: readonly { readonly values: readonly { readonly text: string }[] }[] }
}

async function listMessages(viewer: string): Promise<readonly ProfileData['summary'][]> {
  const response = await fetch(`${viewer}/_profiler/search.json?limit=1000&type=message`)
  return ((await response.json()) as { records: ProfileData[] }).records.map(({ summary }) => summary)
}

async function checkMessages(t: Test, viewer: string, { attempts, publish, separator }: Publisher) {
  const toText = (number: number) => JSON.stringify({ number, password: 'hunter22', fails: number === count })
  const nameOf = (number: number) => `orders${separator}${number % 2 === 0 ? 'even' : 'odd'}`
  const numbers = Array.from({ length: count + 1 }, (_, number) => number)
  await Promise.all(numbers.map(number => publish(nameOf(number), Buffer.from(toText(number)))))
  await publish(`orders${separator}binary`, Buffer.from([0xff, 0xfe, 0xfd]))
  let found: readonly ProfileData['summary'][] = []
  const total = count + 1 + attempts
  await until(async () => {
    found = (await listMessages(viewer)).filter(({ route }) => route !== 'message orders/refused')
    return found.filter(({ outcome }) => outcome === 'complete' || outcome === 'failed').length >= total
  }, 60)
  t.equal(found.length, total, 'a message has one profile each time it is done')
  const wrong: string[] = []
  const outcomes = new Map<number, string[]>()
  for (const { outcome, route, token } of found) {
    const { data } = await readProfile(viewer, token)
    const { console, http, unit } = data as unknown as MessageData
    if (route === `message orders${separator}binary`) {
      t.match(unit, { message: { connection: /./, bytes: 3 } })
      continue
    }
    const number = Number(http.calls.map(call => call.url.split('=')[1]).join())
    const printed = console.entries.map(({ values }) => values.map(({ text }) => text).join(' ')).join()
    const isRight = printed === `number ${number}` && JSON.stringify(unit.input).includes(`"text":"${number}"`)
    const { bytes, connection } = unit.message
    const isMessage = unit.cause === undefined && connection !== '' && bytes === toText(number).length
    if (!isRight || route !== `message ${nameOf(number)}` || !isMessage)
      wrong.push(`${route} ${number}: ${printed} ${JSON.stringify(unit)}`)
    if (JSON.stringify(data).includes('hunter22')) wrong.push(`${number}: a secret`)
    outcomes.set(number, [...(outcomes.get(number) ?? []), outcome].sort())
  }
  t.strictSame(wrong, [], 'each message has its own calls, lines and input')
  const last = ['complete', 'failed'].slice(-attempts)
  t.strictSame(
    numbers.filter(number => String(outcomes.get(number)) !== String(number === count ? last : 'complete')),
    [],
    'each has its own outcome',
  )
}

/** The part of mqtt that is used. */
interface Client {
  publish(topic: string, payload: Buffer, options: { readonly qos: number }): void
  end(isForced: boolean): void
}

for (const version of ['5', '5.0.0', '4']) {
  t.test(
    `a message that a client of mqtt ${version} receives is a unit of its own, with its topic as name`,
    { skip: noRegistry },
    async t => {
      const folder = mkdtempSync(path.join(tmpdir(), 'mqtt-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies: {} }))
      const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', `mqtt@${version}`, 'aedes@1']
      const { code, stderr } = await runProcess(t, line, { cwd: folder })
      t.equal(code, 0, stderr)
      const { ports, stop, viewer } = await startProfiled(t, work + mqttSource + listening, {}, folder)
      const { connect }: { readonly connect: (url: string) => Client } = createRequire(path.join(folder, 'app.mjs'))(
        'mqtt',
      )
      const client = connect(`mqtt://127.0.0.1:${ports[1]}`)
      t.teardown(() => client.end(true))
      let sent = 0
      const publish = (topic: string, payload: Buffer) => client.publish(topic, payload, { qos: sent++ % 3 })
      await checkMessages(t, viewer, { publish, separator: '/', attempts: 1 })
      await stop()
    },
  )
}

t.test('so is one that a consumer of amqplib gets, with its queue as name', { skip: lacksRabbit }, async t => {
  const port = await startRabbit(t)
  const { stop, viewer } = await startProfiled(t, work + amqpSource + listening, { BROKER: String(port) })
  const connection = await amqplib.connect(`amqp://127.0.0.1:${port}`)
  t.teardown(() => connection.close())
  const channel = await connection.createChannel()
  const publish = (queue: string, payload: Buffer) => channel.sendToQueue(queue, payload)
  await checkMessages(t, viewer, { publish, separator: '/', attempts: 1 })
  publish('orders/refused', Buffer.from('no'))
  await until(async () =>
    (await listMessages(viewer)).some(
      ({ outcome, route }) => route === 'message orders/refused' && outcome === 'failed',
    ),
  )
  await stop()
})

t.test('so is one that a consumer of kafkajs gets, with its topic as name', { skip: lacksKafka }, async t => {
  const port = await startKafka(t)
  const brokers = [`127.0.0.1:${port}`]
  const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer()
  await producer.connect()
  t.teardown(() => producer.disconnect())
  const publish = (topic: string, value: Buffer) => producer.send({ topic, messages: [{ value }] })
  const { stop, viewer } = await startProfiled(t, work + kafkaSource + listening, { BROKER: String(port) })
  await checkMessages(t, viewer, { publish, separator: '-', attempts: 2 })
  await stop()
})
