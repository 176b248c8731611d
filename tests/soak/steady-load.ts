import { setMaxListeners } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/**
 * The result of a load. A request is lost if it gets no answer, although it was sent to a server
 * that listens, over a new connection or over a connection that no answer has announced to close
 * and that was idle for less than the promised time (`Keep-Alive: timeout`). Other requests must
 * be repeated by the client (RFC 9112, sections 9.3.1 and 9.5).
 */
export interface LoadReport {
  readonly requests: number
  /** A description of each lost request. */
  readonly lost: readonly string[]
}

/** Milliseconds that a connection is idle at most: much shorter than the five seconds that are granted. */
const longestPause = 3_000

/** Sends a request, and resolves when it is answered. */
type Ask = () => Promise<void>

/**
 * Loads a site with clients of all kinds. Each client sends its next request after the answer to the
 * previous one. An answer is awaited for `patience` milliseconds. The end of the load ends all pauses.
 */
export function startLoad(url: string, patience = 20_000): { stop(): Promise<LoadReport> } {
  const lost: string[] = []
  let requests = 0
  const end = new AbortController()
  // Each client has one.
  setMaxListeners(0, end.signal)

  async function work(name: string, ask: Ask, count: number, pause: () => number): Promise<void> {
    while (!end.signal.aborted) {
      requests += count
      await ask().catch(error => lost.push(`${name}: ${error.message}`))
      await wait(pause(), undefined, { signal: end.signal }).catch(() => undefined)
    }
  }

  const agents: Agent[] = []
  const keepingClient = (method: string, status: number, body: readonly string[] = []) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    agents.push(agent)
    return createClient({ url, patience, agent, method, status, body })
  }
  const workers = [
    ...times(6, () => work('without a pause', keepingClient('GET', 200), 1, () => 0)),
    ...times(6, () => work('with pauses', keepingClient('GET', 200), 1, () => Math.random() * longestPause)),
    ...times(2, () => work('body in halves', keepingClient('POST', 405, ['one', 'two']), 1, () => 0)),
    ...times(2, () =>
      work(
        'new connections',
        createClient({ url, patience, agent: false, method: 'GET', status: 200, body: [] }),
        1,
        () => 0,
      ),
    ),
    ...times(2, () =>
      work(
        'three at once',
        () => pipeline(url, 3, patience),
        3,
        () => 10,
      ),
    ),
  ]
  return {
    async stop() {
      end.abort()
      await Promise.all(workers)
      for (const agent of agents) agent.destroy()
      return { requests, lost }
    },
  }
}

function times<item>(count: number, create: () => item): item[] {
  return Array.from({ length: count }, create)
}

interface ClientOptions {
  readonly url: string
  readonly patience: number
  readonly agent: Agent | false
  readonly method: string
  /** Of a good answer. */
  readonly status: number
  /** Parts that are sent one after another. */
  readonly body: readonly string[]
}

function createClient({ agent, body, method, patience, status, url }: ClientOptions): Ask {
  let answered = performance.now()
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const sent = performance.now()
      const message = request(url, { agent, method })
      const fail = (reason: string) => {
        const age = message.reusedSocket ? `${Math.round(sent - answered)} ms after the answer before` : 'as its first'
        const waited = Math.round(performance.now() - sent)
        reject(new Error(`${reason}, ${waited} ms after it was sent, ${age}`))
      }
      message.setTimeout(patience, () => message.destroy(new Error('no answer')))
      message.on('error', error => fail(String(error)))
      message.on('response', response => {
        response.on('error', error => fail(`cut off: ${error}`)).resume()
        response.on('end', () => {
          answered = performance.now()
          if (response.statusCode === status) resolve()
          else fail(`status ${response.statusCode}`)
        })
      })
      void send(message, body)
    })
  return ask
}

async function send(message: ReturnType<typeof request>, body: readonly string[]): Promise<void> {
  for (const part of body) {
    message.write(part)
    await wait(20)
  }
  message.end()
}

/** Sends several requests one behind the other; the last asks for the end of the connection. */
function pipeline(url: string, count: number, patience: number): Promise<void> {
  const { pathname, port } = new URL(url)
  const head = `GET ${pathname} HTTP/1.1\r\nHost: localhost\r\n`
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`${`${head}\r\n`.repeat(count - 1)}${head}Connection: close\r\n\r\n`)
  let received = ''
  return new Promise((resolve, reject) => {
    socket.setTimeout(patience, () => socket.destroy(new Error('no answer')))
    socket.on('data', chunk => (received += chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const answers = received.split('HTTP/1.1 200 OK\r\n').length - 1
      if (answers === count) resolve()
      else reject(new Error(`${answers} of ${count} were answered`))
    })
  })
}
