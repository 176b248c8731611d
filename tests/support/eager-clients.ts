import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** How many requests were answered, reset and refused, or had no answer for a minute. */
export interface Outcomes {
  answered: number
  reset: number
  refused: number
  silent: number
}

const program = `
  const { request } = require('node:http')
  const { parentPort, workerData: { port, path } } = require('node:worker_threads')
  const counts = { answered: 0, reset: 0, refused: 0, silent: 0 }
  const ask = () => new Promise(resolve => {
    const message = request({ port, host: '127.0.0.1', path, agent: false }, response =>
      response.on('error', () => resolve('reset')).resume().on('end', () => resolve('answered')))
    message.setTimeout(60_000, () => resolve('silent'))
    message.on('error', ({ code }) => resolve(code === 'ECONNREFUSED' ? 'refused' : 'reset')).end()
  })
  const send = async () => {
    for (let outcome = ''; !/refused|silent/.test(outcome); counts[outcome]++) outcome = await ask()
  }
  Promise.all(Array.from({ length: 8 }, send)).then(() => parentPort.postMessage(counts))
`

/**
 * Starts eight clients in a thread of their own. Each sends requests one after the other, each on
 * a connection of its own, until one is refused, or has no answer. Resolves when all have ended.
 */
export async function startEagerClients(port: number, path: string): Promise<Outcomes> {
  const worker = new Worker(program, { eval: true, workerData: { port, path } })
  const [outcomes] = (await once(worker, 'message')) as [Outcomes]
  return outcomes
}
