import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, t } from 'tap'
import { until } from '#tests/support/until.ts'
import { type LoadReport, startLoad } from './steady-load.ts'

/** What became of a load on a server that answers so, after this number of requests. */
async function load(t: Test, answer: RequestListener, count: number, patience?: number): Promise<LoadReport> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  const { stop } = startLoad(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, patience)
  await until(() => requests >= count)
  return stop()
}

t.test('a request is lost that is not answered, answered by something else, or cut off', async t => {
  const wrong = await load(t, (_request, response) => response.writeHead(500).end(), 100)
  t.equal(wrong.requests > 18, true)
  t.ok(wrong.lost.some(text => /^new connections: status 500, \d+ ms after it was sent, as its first$/.test(text)))
  t.ok(wrong.lost.some(text => /^without a pause: status 500, .* ms after the answer before$/.test(text)))
  t.ok(wrong.lost.includes('three at once: 0 of 3 were answered'))
  const silent = await load(t, () => undefined, 18, 200)
  t.ok(silent.lost.some(text => text.startsWith('with pauses: Error: no answer')))
  t.ok(silent.lost.some(text => text.startsWith('three at once: no answer')))
  const cutOff: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-length': 9 }).flushHeaders()
    response.write('cut')
    setTimeout(() => response.destroy(), 5)
  }
  const cut = await load(t, cutOff, 18)
  t.ok(cut.lost.some(text => text.includes('cut off: ')))
})

t.test('nothing is lost of what is answered', async t => {
  const answer: RequestListener = (request, response) =>
    request.resume().on('end', () => response.writeHead(request.method === 'GET' ? 200 : 405).end())
  const good = await load(t, answer, 100)
  t.strictSame(good.lost, [])
})
