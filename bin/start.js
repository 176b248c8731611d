// The main process, and each of its workers: bin/serve imports this file, or the supervisor starts it as a child
// process.
import cluster from 'node:cluster'
import { tuneGarbageCollector } from './garbage-collector.js'

/** Milliseconds that a slow reader of stdout has for the last log lines. */
const flushTime = 3_000

// A worker's IPC channel belongs to node:cluster: connections come by it, and node ends the worker when it is closed.
if (cluster.isPrimary) {
  // The supervisor is gone, so no other process would end this one.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}

process.setSourceMapsEnabled(true)
const { serve } = await import('../dist/bin/serve.js')
// Node takes its own modules from a cache that V8 rejects once its flags have changed: at this point they are loaded.
tuneGarbageCollector()
await serve(process.argv.slice(2))
// Handles that a bundle has left open must not keep the process, but a full pipe has not yet taken all log lines.
setTimeout(() => process.exit(), flushTime)
process.stdout.write('', () => process.exit())
