// The process that serves: bin/serve itself, or a child of its supervisor.
import cluster from 'node:cluster'
import { tuneGarbageCollector } from './garbage-collector.js'

// A worker's channel is the cluster's: what it accepts comes by it, and without it node ends the process.
if (cluster.isPrimary) {
  // The supervisor is gone, and nobody else would end its child.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}

process.setSourceMapsEnabled(true)
const { serve } = await import('../dist/bin/serve.js')
// Node takes its own modules from a cache, which is of no use any more once V8 has other flags: they are loaded by now.
tuneGarbageCollector()
await serve(process.argv.slice(2))
// Whatever a bundle has left open must not keep the process.
process.exit()
