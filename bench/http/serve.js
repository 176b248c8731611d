// A server process: it reports its port, and on request its CPU time (in microseconds), the bytes
// that it has allocated since the last such request, or, after a garbage collection, its resident
// memory and what its objects and buffers take of it (in bytes).
import { GCProfiler } from 'node:v8'
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
  if ('wantsBytes' in message) return { bytes: countBytes() }
  return 'wantsMemory' in message ? measureMemory() : { cpu: measureCpu() }
}

/** @type {GCProfiler | undefined} */
let collections
let used = 0

/** What the heap has grown by, before, between and after its garbage collections. */
function countBytes() {
  let bytes = 0
  for (const { afterGC, beforeGC } of collections?.stop()?.statistics ?? []) {
    bytes += beforeGC.heapStatistics.usedHeapSize - used
    used = afterGC.heapStatistics.usedHeapSize
  }
  const { heapUsed } = process.memoryUsage()
  bytes += heapUsed - used
  used = heapUsed
  collections = new GCProfiler()
  collections.start()
  return bytes
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
