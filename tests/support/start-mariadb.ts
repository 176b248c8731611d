import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { findPort } from './find-port.ts'
import type { DatabaseServer } from './start-postgres.ts'
import { createServerFolder, lacksPrograms, startServer } from './start-server.ts'

/** Why tests with MariaDB are skipped; `false` if it is installed. */
export const lacksMariadb: string | false = lacksPrograms('MariaDB', 'mariadbd')

/**
 * Starts a MariaDB with an empty database, on a free port and in a temporary folder; it ends with the test.
 * Without tables of users it needs no installation, which takes seconds: every user and password is right.
 */
export async function startMariadb(t: Test): Promise<DatabaseServer> {
  const folder = createServerFolder(t)
  const [user, password, database] = ['app', 'the-password-of-the-database', 'shop']
  const script = path.join(folder, 'start.sql')
  writeFileSync(script, `CREATE DATABASE ${database};\n`)
  const port = await findPort()
  await startServer(t, {
    command: 'mariadbd',
    args: [
      ...['--no-defaults', `--datadir=${folder}`, `--socket=${path.join(folder, 'socket')}`, `--init-file=${script}`],
      ...['--skip-grant-tables', '--skip-name-resolve', '--bind-address=127.0.0.1', `--port=${port}`],
      ...['--innodb-buffer-pool-size=8M', '--innodb-flush-log-at-trx-commit=0'],
    ],
    ready: /ready for connections/,
    stop: 'SIGKILL',
  })
  return { host: '127.0.0.1', port, user, password, database }
}
