import { eventsProcessSchema, eventsSchema } from '../profile/span-data.ts'
import { missingAssetsSchema } from './assets/data.ts'
import { browserSchema } from './browser/data.ts'
import { configProcessSchema, serverProcessSchema } from './config/data.ts'
import { consoleSchema } from './console/data.ts'
import { cpuSchema } from './cpu/data.ts'
import { exceptionSchema } from './exception/data.ts'
import { redirectsSchema, requestSchema, responseSchema, sessionSchema } from './exchange/data.ts'
import { graphqlSchema } from './graphql/data.ts'
import { httpSchema } from './http/data.ts'
import { loggerSchema } from './logs/data.ts'
import { mailsSchema } from './mails/data.ts'
import { memorySchema } from './memory/data.ts'
import { queriesProcessSchema, queriesSchema } from './queries/data.ts'
import { routerProcessSchema, routerSchema } from './router/data.ts'
import { templatesSchema } from './templates/data.ts'
import { lateSchema, timeSchema, withinSchema } from './time/data.ts'
import { unitSchema } from './unit/data.ts'
import { validationsSchema } from './validation/data.ts'

/**
 * The schemas of the parts that the profiler's collectors record of a request. The names are stored and public;
 * the import says which subject a part belongs to. Panels have the same names, except that `request` shows all
 * parts of `exchange/`, and `database` and `cache` show `queries`. `late`, `within` and `missing` have no panel.
 */
export const collectorSchemas = {
  request: requestSchema,
  response: responseSchema,
  session: sessionSchema,
  redirects: redirectsSchema,
  events: eventsSchema,
  time: timeSchema,
  logger: loggerSchema,
  console: consoleSchema,
  exception: exceptionSchema,
  router: routerSchema,
  templates: templatesSchema,
  http: httpSchema,
  graphql: graphqlSchema,
  queries: queriesSchema,
  mails: mailsSchema,
  validation: validationsSchema,
  memory: memorySchema,
  late: lateSchema,
  within: withinSchema,
  cpu: cpuSchema,
  browser: browserSchema,
  missing: missingAssetsSchema,
  unit: unitSchema,
}

/** The schemas of the parts that they record of the process. */
export const processSchemas = {
  events: eventsProcessSchema,
  router: routerProcessSchema,
  queries: queriesProcessSchema,
  server: serverProcessSchema,
  config: configProcessSchema,
}
