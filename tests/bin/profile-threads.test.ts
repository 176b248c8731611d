import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { countThreads, nameThread } from '#bin/profiling/profile-refusal.ts'
import { startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const program = `
import { createServer } from 'node:http'
import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
const server = createServer((request, response) => response.end('done')).listen(0, '127.0.0.1')
await once(server, 'listening')
if (isMainThread) {
  const ports = [server.address().port]
  for (let count = 0; count < 2; count++) ports.push((await once(new Worker(new URL(import.meta.url)), 'message'))[0])
  process.stdout.write(JSON.stringify(ports) + '\\n')
  process.stdin.on('end', () => process.exit()).resume()
} else parentPort.postMessage(server.address().port)
`

t.test('worker threads that answer requests are named once: their requests are not recorded', async t => {
  const { output, ports, stop } = await startProfiled(t, program)
  const visit = async (port = 0) => (await fetch(`http://127.0.0.1:${port}/`)).headers.has('x-debug-token')
  const [main, ...threads] = ports
  t.ok(await visit(main))
  t.notMatch(output.stderr, 'thread')
  for (const port of [...threads, ...threads]) t.notOk(await visit(port))
  await until(() => output.stderr.includes('A worker thread answers requests.'))
  await stop()
  t.equal(output.stderr.split('A worker thread').length, 2)
})

t.test('of several threads that answer, the first request of one is named', async t => {
  const written = t.capture(process.stderr, 'write', () => true)
  nameThread()
  countThreads()
  for (let thread = 0; thread < 2; thread++) nameThread()
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  for (let count = 0; count < 3; count++) await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  server.close()
  t.match(
    written().map(({ args: [text] }) => text),
    ['A worker thread answers requests. They are not recorded: the profiler sees the main thread only.\n'],
  )
})
