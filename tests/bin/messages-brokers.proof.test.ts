import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Messages at once. */
const count = 60

/**
 * Answers each message by its number, after an HTTP client call and a line of the console with it.
 * A request has connected the client.
 */
const source = `
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { Aedes } from 'aedes'
import mqtt from 'mqtt'
process.on('unhandledRejection', () => undefined)
const broker = await Aedes.createBroker()
let client
function answer(request, reply) {
  if (request.url === '/connect') client = mqtt.connect('mqtt://127.0.0.1:' + ports[1], { clientId: 'worker' })
  reply.end('inner')
}
const servers = [http.createServer(answer), net.createServer(broker.handle)]
for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
const ports = servers.map(server => server.address().port)
await fetch('http://127.0.0.1:' + ports[0] + '/connect')
async function work(topic, payload) {
  if (topic === 'orders/binary') return
  const { number, fails } = JSON.parse(payload)
  await (await fetch('http://127.0.0.1:' + ports[0] + '/inner?number=' + number)).text()
  await new Promise(resolve => setTimeout(resolve, number % 7))
  console.log('number', number)
  if (fails) throw new TypeError('no such number')
  return number
}
client.on('message', work)
const never = () => process.exit(1)
client.on('message', never)
if (client.listeners('message')[1] !== never) process.exit(1)
client.off('message', never)
client.once('message', () => undefined)
client.subscribe('orders/#', { qos: 2 }, () => console.log(JSON.stringify(ports)))
process.stdin.on('end', () => process.exit()).resume()
`

/** The part of mqtt that is used. */
interface Client {
  publish(topic: string, payload: string | Buffer, options: { readonly qos: number }): void
  end(isForced: boolean): void
}

interface MessageData {
  readonly unit: {
    readonly cause?: string
    readonly input: unknown
    readonly result: { readonly text: string }
    readonly message: { readonly connection: string; readonly bytes: number }
  }
  readonly http: { readonly calls: readonly { readonly url: string }[] }
  readonly console: { readonly entries: readonly { readonly values: readonly { readonly text: string }[] }[] }
}

async function checkMessages(t: Test, version: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mqtt-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies: {} }))
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', `mqtt@${version}`, 'aedes@1']
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, stderr)
  const { ports, stop, viewer } = await startProfiled(t, source, {}, folder)
  const { connect }: { readonly connect: (url: string) => Client } = createRequire(path.join(folder, 'app.mjs'))('mqtt')
  const client = connect(`mqtt://127.0.0.1:${ports[1]}`)
  t.teardown(() => client.end(true))
  const toText = (number: number) => JSON.stringify({ number, password: 'hunter22', fails: number === count })
  for (let number = 0; number <= count; number++)
    client.publish(`orders/${number % 2 === 0 ? 'even' : 'odd'}`, toText(number), { qos: number % 3 })
  client.publish('orders/binary', Buffer.from([0xff, 0xfe, 0xfd]), { qos: 0 })
  let found: readonly ProfileData['summary'][] = []
  await until(async () => {
    const response = await fetch(`${viewer}/_profiler/search.json?limit=1000&type=message`)
    found = ((await response.json()) as { records: ProfileData[] }).records.map(({ summary }) => summary)
    return found.filter(({ outcome }) => outcome === 'complete' || outcome === 'failed').length >= count + 2
  }, 60)
  t.equal(found.length, count + 2, 'a message has one profile')
  const wrong: string[] = []
  const seen = new Set<number>()
  for (const { outcome, route, token } of found) {
    const { data } = await readProfile(viewer, token)
    const { console, http, unit } = data as unknown as MessageData
    if (route === 'message orders/binary') {
      t.match(unit, { message: { connection: 'worker', bytes: 3 } })
      continue
    }
    const number = Number(http.calls.map(call => call.url.split('=')[1]).join())
    const printed = console.entries.map(({ values }) => values.map(({ text }) => text).join(' ')).join()
    const isRight = printed === `number ${number}` && JSON.stringify(unit.input).includes(`"text":"${number}"`)
    const isNamed = route === `message orders/${number % 2 === 0 ? 'even' : 'odd'}`
    const { bytes, connection } = unit.message
    const isMessage = unit.cause === undefined && connection === 'worker' && bytes === toText(number).length
    if (!isRight || !isNamed || !isMessage || (outcome === 'failed') !== (number === count))
      wrong.push(`${route} ${number}: ${printed} ${outcome} ${JSON.stringify(unit)}`)
    if (JSON.stringify(data).includes('hunter22')) wrong.push(`${number}: a secret`)
    seen.add(number)
  }
  t.strictSame(wrong, [], 'each message has its own calls, lines and input')
  t.equal(seen.size, count + 1)
  await stop()
}

for (const version of ['5', '5.0.0', '4']) {
  t.test(
    `a message that a client of mqtt ${version} receives is a unit of its own, with its topic as name`,
    { skip: noRegistry },
    t => checkMessages(t, version),
  )
}
