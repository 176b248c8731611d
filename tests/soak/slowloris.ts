import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** What became of many clients that never come to an end. */
export interface SlowlorisReport {
  readonly sockets: number
  /** Milliseconds that good requests took: nine of ten were faster than the first. */
  readonly slowAnswer: number
  readonly slowestAnswer: number
  /** How many the server has not closed. */
  readonly left: number
}

/** Milliseconds: longer than a server waits for a request, and looks whether one is overdue. */
const limit = 36_000

/** Opens many connections: a half of them sends a head without an end, the other a body drop by drop. */
export async function attack(port: number, sockets: number): Promise<SlowlorisReport> {
  const open = new Set<Socket>()
  for (let index = 0; index < sockets; index++) {
    const socket = connect(port, '127.0.0.1')
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    socket.resume().write(index % 2 === 0 ? 'GET /text HTTP/1.1\r\nHost: localhost\r\nX-Slow: ' : slowBody)
    // Not faster than the backlog of the server is taken.
    if (index % 100 === 99) await wait(20)
  }
  const start = performance.now()
  const times: number[] = []
  while (open.size > 0 && performance.now() - start < limit) {
    for (const socket of open) if (socket.writable) socket.write('x')
    const asked = performance.now()
    await (await fetch(`http://127.0.0.1:${port}/text`)).text()
    times.push(performance.now() - asked)
    await wait(1_000)
  }
  const left = open.size
  for (const socket of open) socket.destroy()
  times.sort((a, b) => a - b)
  const slowAnswer = times[Math.floor(times.length * 0.9)] ?? 0
  return { sockets, slowAnswer, slowestAnswer: times.at(-1) ?? 0, left }
}

const slowBody = 'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 60000\r\n\r\nx'
