import { type Bundle, type Config, createFrameworkBundle } from 'sinfonietta'
import { createAccountsBundle } from './accounts/accounts-bundle.ts'
import { Database } from './database/database.ts'
import { createDatabaseBundle } from './database/database-bundle.ts'
import { createMailsBundle } from './mails/mails-bundle.ts'
import { Outbox, type SendMail } from './mails/outbox.ts'
import { textsBundle } from './texts/texts-bundle.ts'
import { createToolsBundle } from './tools/tools-bundle.ts'

/**
 * The bundles of the application, in the order in which they are registered. Add yours to the
 * list. The server passes the configuration; tests pass a database, and what sends a mail, too.
 */
export function createBundles(_config?: Config, database = new Database(), sendMail?: SendMail): Bundle[] {
  const outbox = new Outbox(database)
  return [
    createFrameworkBundle(),
    textsBundle,
    createDatabaseBundle(database),
    createMailsBundle(outbox, sendMail),
    createAccountsBundle(database, outbox),
    createToolsBundle(database, outbox),
  ]
}
