import { existsSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { findPort } from './find-port.ts'
import { createServerFolder, lacksPrograms, runAsServer, startServer } from './start-server.ts'

/** Why tests with PostgreSQL are skipped; `false` if it is installed. */
export const lacksPostgres: string | false = lacksPrograms('PostgreSQL', 'initdb', 'postgres')

/** The options of a client, as the package pg takes them. */
export interface DatabaseServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

const user = 'app'

/** Creates the files of an empty database. */
function initialize(data: string): void {
  const options = ['--auth=trust', '--no-sync', '--no-locale', '--encoding=UTF8', '--wal-segsize=1']
  runAsServer('initdb', ['-D', data, '-U', user, ...options])
}

/**
 * Copies the files of an empty database that the first test of a run of `bin/test` has created: to
 * create them takes a second.
 */
function copyFirst(data: string): void {
  const first = path.join(tmpdir(), 'postgres')
  if (!existsSync(first)) {
    initialize(`${data}-first`)
    try {
      renameSync(`${data}-first`, first)
    } catch (error) {
      // Another program was faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    }
  }
  runAsServer('cp', ['-a', first, data])
}

/** Starts a PostgreSQL with an empty database, on a free port and in a temporary folder; it ends with the test. */
export async function startPostgres(t: Test): Promise<DatabaseServer> {
  const folder = createServerFolder(t)
  const data = path.join(folder, 'data')
  // Only a run has a temporary folder of its own, which is removed after it.
  if (path.basename(tmpdir()).startsWith('tests-')) copyFirst(data)
  else initialize(data)
  const port = await findPort()
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'shared_buffers=8MB']
  await startServer(t, {
    command: 'postgres',
    args: ['-D', data, '-h', '127.0.0.1', '-p', `${port}`, '-k', folder, ...settings.flatMap(each => ['-c', each])],
    ready: /ready to accept connections/,
    stop: 'SIGQUIT',
  })
  // Any password is right.
  return { host: '127.0.0.1', port, user, password: 'the-password-of-the-database', database: 'postgres' }
}
