import { type Bundle, defineSettings } from 'sinfonietta'
import { exitCodes } from 'sinfonietta/console'
import type { Database } from './database.ts'
import { readMigrations } from './migrations.ts'
import { seed, seedPassword } from './seed.ts'

const databaseSettings = defineSettings({
  DATABASE_URL: { help: 'the address of the database, as in .env', secret: true, default: undefined },
})

const lacking = 'lacks tables: bin/console database:migrate creates them.'

/** Opens the database, and adds a health check for it and the commands that change its tables. */
export function createDatabaseBundle(database: Database): Bundle {
  return {
    name: 'database',
    settings: databaseSettings,
    register(app) {
      const { commands, config, healthChecks, settings } = app
      const { DATABASE_URL } = settings.of(databaseSettings)
      // A test of pages that need no database sets none.
      if (DATABASE_URL !== undefined) database.open(DATABASE_URL, app)
      healthChecks.push({
        name: 'database',
        async check() {
          const all = await readMigrations(database).catch(cause => {
            throw new Error(`The database of DATABASE_URL does not answer, or ${lacking}`, { cause })
          })
          if (all.some(({ done }) => done === undefined)) throw new Error(`The database of DATABASE_URL ${lacking}`)
        },
      })
      commands.push({
        name: 'database:migrate',
        description: 'Brings the tables up to date',
        async run(_input, output) {
          const count = await database.migrate()
          output.print({ blocks: [{ kind: 'text', text: `Migrations that have run: ${count}.` }], json: { count } })
          return exitCodes.success
        },
      })
      commands.push({
        name: 'database:seed',
        description: 'Fills empty tables with users and tools for development',
        async run(_input, output) {
          if (config.environment === 'prod' || !(await seed(database))) {
            output.error('The seed is for empty tables, and never for production.')
            return exitCodes.failure
          }
          const text = `admin@example.org and member@example.org log in with the password "${seedPassword}".`
          output.print({ blocks: [{ kind: 'text', text }], json: { isSeeded: true } })
          return exitCodes.success
        },
      })
    },
    close: () => database.close(),
  }
}
