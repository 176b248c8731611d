import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of 127.0.0.1 that no program listens on. It is below the range from which Linux takes the ports of clients, so that the
 * connection of another test does not take it.
 */
export async function findPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
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
