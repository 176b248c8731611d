import type { Test } from 'tap'
import { findPort } from './find-port.ts'
import { createServerFolder, lacksPrograms, startServer } from './start-server.ts'

/** Why tests with Redis are skipped; `false` if it is installed. */
export const lacksRedis: string | false = lacksPrograms('Redis', 'redis-server')

/* c8 ignore start -- only where there is a Redis */
/** Starts an empty Redis on a free port, which stores nothing; it ends with the test. */
export async function startRedis(t: Test): Promise<{ readonly host: string; readonly port: number }> {
  const port = await findPort()
  const host = '127.0.0.1'
  await startServer(t, {
    command: 'redis-server',
    args: ['--bind', host, '--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', createServerFolder(t)],
    ready: /Ready to accept connections/,
    stop: 'SIGKILL',
  })
  return { host, port }
}
/* c8 ignore stop */
