// One of several worker processes; its argument is a file in servers/. On request it reports its
// resource usage and its number of requests.
import { subscribe } from 'node:diagnostics_channel'
import { measureCpu } from './measure-cpu.js'

let requests = 0
subscribe('http.server.request.start', () => {
  requests++
})
process.on('message', () => process.send?.({ cpu: measureCpu(), requests }))
const { start } = await import(`./servers/${process.argv[2]}.js`)
await start()
