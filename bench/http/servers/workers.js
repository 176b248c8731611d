import cluster from 'node:cluster'
import { once } from 'node:events'
import path from 'node:path'
import { runWorkers } from '../../../dist/bin/workers.js'
import { measureCpu } from '../measure-cpu.js'

/**
 * This kernel with several workers, as bin/serve starts them in production.
 *
 * @param {string} count
 * @returns {Promise<number>} the port that they share
 */
export function start(count) {
  return new Promise(resolve => {
    void runWorkers({
      count: Number(count),
      program: path.join(import.meta.dirname, '../worker.js'),
      commandLine: [],
      finalCode: 64,
      report: console.error,
      onReady: ({ port }) => resolve(port),
      ended: once(process, 'SIGTERM'),
    })
  })
}

/**
 * What all processes have used together, and how many requests each worker has had. The main process asks them and
 * passes on every message.
 *
 * @returns {Promise<{ cpu: number, requests: number[] }>}
 */
export function answer() {
  return new Promise(resolve => {
    /** @type {{ cpu: number, requests: number }[]} */
    const answers = []
    const onMessage = (/** @type {unknown} */ _worker, /** @type {{ cpu: number, requests: number }} */ answer) => {
      answers.push(answer)
      if (answers.length < Object.keys(cluster.workers ?? {}).length) return
      cluster.off('message', onMessage)
      const cpu = answers.reduce((sum, { cpu }) => sum + cpu, measureCpu())
      resolve({ cpu, requests: answers.map(({ requests }) => requests) })
    }
    cluster.on('message', onMessage)
  })
}
