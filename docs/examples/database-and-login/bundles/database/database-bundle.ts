import { asUrl, type Bundle, defineSettings } from 'sinfonietta'
import { exitCodes } from 'sinfonietta/console'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'

const databaseSettings = defineSettings({
  DATABASE_URL: { help: 'such as postgres://user:password@localhost/tools', schema: asUrl, secret: true },
})

/** Opens the database, and adds a health check for it and the command that changes its tables. */
export function createDatabaseBundle(database: Database): Bundle {
  return {
    name: 'database',
    settings: databaseSettings,
    register({ commands, healthChecks, logger, settings }) {
      const { DATABASE_URL } = settings.of(databaseSettings)
      database.open(DATABASE_URL, exception => logger.warning('A connection to the database has ended.', { exception }))
      healthChecks.push({ name: 'database', check: () => database.pool.query('SELECT 1') })
      commands.push({
        name: 'database:migrate',
        description: 'Brings the tables up to date',
        async run(_input, output) {
          const count = await migrate(database.pool)
          output.print({ blocks: [{ kind: 'text', text: `Migrations that have run: ${count}.` }], json: { count } })
          return exitCodes.success
        },
      })
    },
    close: () => database.close(),
  }
}
