// One of several worker processes. On request it reports its resource usage and its number of requests.
import { subscribe } from 'node:diagnostics_channel'
import { measureCpu } from './measure-cpu.js'
import { start } from './servers/sinfonietta.js'

let requests = 0
subscribe('http.server.request.start', () => {
  requests++
})
process.on('message', () => process.send?.({ cpu: measureCpu(), requests }))
await start()
