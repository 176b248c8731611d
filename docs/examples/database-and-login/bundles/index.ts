import { type Bundle, type Config, createFrameworkBundle } from 'sinfonietta'
import { createAccountsBundle } from './accounts/accounts-bundle.ts'
import type { CreateMailer } from './accounts/password-reset.ts'
import { Database } from './database/database.ts'
import { createDatabaseBundle } from './database/database-bundle.ts'
import { createToolsBundle } from './tools/tools-bundle.ts'

/**
 * The bundles of the application, in the order in which they are registered. Add yours to the
 * list. The server passes the configuration; tests pass a database and a mailer, too.
 */
export function createBundles(_config?: Config, database = new Database(), createMailer?: CreateMailer): Bundle[] {
  return [
    createFrameworkBundle(),
    createDatabaseBundle(database),
    createAccountsBundle(database, createMailer),
    createToolsBundle(database),
  ]
}
