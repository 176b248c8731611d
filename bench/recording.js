// Handles pages in an application with a feature of `servers/development.js`, and reports the
// microseconds of a request of each turn. The application logs to its output.

import { measureCpu } from './http/measure-cpu.js'
import { createRun } from './http/servers/development.js'

const [feature, requests, turns, warmUp] = process.argv.slice(2)
const run = await createRun(feature === 'plain' ? undefined : feature)
await run(Number(warmUp))
const costs = []
for (let turn = 0; turn < Number(turns); turn++) {
  const before = measureCpu()
  await run(Number(requests))
  costs.push((measureCpu() - before) / Number(requests))
}
process.on('disconnect', () => process.exit())
process.send?.({ costs })
