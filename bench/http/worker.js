// One of several worker processes: tells what it has used, and how many requests it has had, whenever it is asked.
import { subscribe } from 'node:diagnostics_channel'
import { measureCpu } from './measure-cpu.js'
import { start } from './servers/sinfonietta.js'

let requests = 0
subscribe('http.server.request.start', () => {
  requests++
})
process.on('message', () => process.send?.({ cpu: measureCpu(), requests }))
await start()
