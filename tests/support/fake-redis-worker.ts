// A fake Redis that answers while the main thread waits for another process. Each message empties it.
import { parentPort } from 'node:worker_threads'
import { startFakeRedis } from './fake-redis.ts'

// The end of the thread ends the server.
const fake = await startFakeRedis({ teardown: () => undefined })
parentPort?.on('message', () => fake.empty())
parentPort?.postMessage(fake.url)
