// The main process, and each of its workers: bin/serve imports this file, or the supervisor starts it as a child
// process.
import cluster from 'node:cluster'
import { tuneGarbageCollector } from './garbage-collector.js'

/** Milliseconds that a slow reader of stdout has for the last log lines. */
const flushTime = 3_000

// Not in a worker: its IPC channel belongs to node:cluster, which ends the worker when the channel is closed.
if (cluster.isPrimary) {
  // The supervisor has ended, and no other process would end this one.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}

process.setSourceMapsEnabled(true)
const { serve } = await import('../dist/bin/serve.js')
// After a change of flags, V8 rejects the code cache of Node's own modules, so they are all loaded before.
tuneGarbageCollector()
await serve(process.argv.slice(2))
// The process ends even if a bundle has left a handle open, but after stdout has taken the last log lines.
setTimeout(() => process.exit(), flushTime)
process.stdout.write('', () => process.exit())
