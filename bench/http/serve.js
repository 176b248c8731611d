// A server process: it reports its port, and on request its CPU time (in microseconds) or, after a garbage collection, its resident
// memory and what its objects and buffers take of it (in bytes).
import { measureCpu } from './measure-cpu.js'

const [name, feature] = process.argv.slice(2)
const server = await import(`./servers/${name}.js`)
const port = await server.start(feature)
// A server of several processes asks them.
const answer = server.answer ?? answerAlone

process.on('message', async message => {
  process.send?.(await answer(Object(message)))
})
process.on('disconnect', () => process.exit())
process.send?.({ port })

/** @param {object} message */
async function answerAlone(message) {
  return 'wantsMemory' in message ? measureMemory() : { cpu: measureCpu() }
}

/** Twice, after what is still under way: what is freed by one collection is returned to the system by the next. */
async function measureMemory() {
  for (let collection = 0; collection < 3; collection++) {
    await new Promise(resolve => setTimeout(resolve, 500))
    globalThis.gc?.()
  }
  const { arrayBuffers, heapUsed, rss } = process.memoryUsage()
  return { memory: rss, objects: heapUsed + arrayBuffers }
}
