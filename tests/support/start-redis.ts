import type { ChildProcess } from 'node:child_process'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { findPort } from './find-port.ts'
import { createServerFolder, lacksPrograms, startServer } from './start-server.ts'

/** Why tests with Redis are skipped; `false` if it is installed. */
export const lacksRedis: string | false = lacksPrograms('Redis', 'redis-server')

/** A Redis of a test. */
export interface StartedRedis {
  readonly host: string
  readonly port: number
  readonly process: ChildProcess
}

/** Starts an empty Redis, which stores nothing, by default on a free port; it ends with the test. */
export async function startRedis(
  t: Test,
  options: { readonly port?: number; readonly args?: readonly string[] } = {},
): Promise<StartedRedis> {
  const { args = [], port = await findPort() } = options
  const host = '127.0.0.1'
  const own = ['--bind', host, '--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', createServerFolder(t)]
  const process = await startServer(t, {
    command: 'redis-server',
    args: [...own, ...args],
    ready: /Ready to accept connections/,
    stop: 'SIGKILL',
  })
  return { host, port, process }
}

/** Opens a client of a test, which ends with it. */
export function openRedis(
  t: Test,
  options: Pick<StartedRedis, 'host' | 'port'> & { readonly password?: string },
): Redis {
  const client = new Redis(options)
  t.teardown(() => client.disconnect())
  return client
}
