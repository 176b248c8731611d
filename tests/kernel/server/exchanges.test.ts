import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { Exchanges } from '#kernel/server/exchanges.ts'

t.test('exchanges end in any order, and each of them once', async t => {
  const exchanges = new Exchanges()
  const [one, other] = [new Socket(), new Socket()]
  const begin = (socket: Socket) => exchanges.begin(createRequest(), new ServerResponse(new IncomingMessage(socket)))
  const [first, second, third, fourth] = [begin(one), begin(other), begin(one), begin(other)]
  const open = () => [...exchanges].map(exchange => [first, second, third, fourth].indexOf(exchange) + 1)
  t.strictSame(open(), [1, 2, 3, 4])
  t.strictSame(
    [first, second, third, fourth].map(exchange => exchanges.isLast(exchange)),
    [false, false, true, true],
  )
  t.equal(exchanges.end(second), true)
  t.equal(exchanges.end(second), false)
  t.strictSame(open(), [1, 3, 4])
  t.equal(exchanges.end(fourth), true)
  t.equal(exchanges.end(first), true)
  t.strictSame(open(), [3])
  t.equal(exchanges.end(third), true)
  t.strictSame(open(), [])
})
