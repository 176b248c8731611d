import { once } from 'node:events'
import { createServer } from 'node:net'

/** How many ports this process has looked at. */
let looks = 0

/**
 * A port of 127.0.0.1 that no program listens on. It is below the range from which Linux takes the
 * ports of clients, so that the connection of another test does not take it; and each process has
 * ports of its own, so that no other test finds it.
 */
export async function findPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + (process.pid % 600) * 20 + (looks++ % 20)
    if (await isFree(port)) return port
  }
}

/** Whether no program listens on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
