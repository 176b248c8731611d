import cluster from 'node:cluster'
import { once } from 'node:events'
import path from 'node:path'
import { runWorkers } from '../../../dist/bin/serving/workers.js'
import { measureCpu } from '../measure-cpu.js'

/**
 * A server with several workers, started as bin/serve does in production.
 *
 * @param {string} feature the number of workers, and the file in this folder, which is this kernel by default: `2 node`
 * @returns {Promise<number>} the port that they share
 */
export function start(feature) {
  const [count, server = 'sinfonietta'] = feature.split(' ')
  return new Promise(resolve => {
    void runWorkers({
      count: Number(count),
      program: path.join(import.meta.dirname, '../worker.js'),
      commandLine: [server],
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
