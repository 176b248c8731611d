import path from 'node:path'
import { createFrameworkBundle } from '../dist/bundles/framework/framework-bundle.js'
import { siteBundle } from '../dist/bundles/site/site-bundle.js'
import { Kernel } from '../dist/kernel/kernel.js'
import { readConfig } from '../dist/lib/env/config.js'
import { Settings } from '../dist/lib/env/settings.js'
import { createLogger } from '../dist/lib/log/create-logger.js'
import { Redactor } from '../dist/lib/redact/redactor.js'

/** What an environment sets, secrets included: they are looked for in whatever is logged. */
const variables = {
  APP_SECRET: 'a secret for the benchmark, of enough characters',
  DATABASE_URL: 'postgres://user:a-long-password@localhost/site',
  MAILER_DSN: 'smtp://user:another-password@localhost:25',
  RECAPTCHA3_KEY: 'a-key-of-recaptcha',
  RECAPTCHA3_SECRET: 'a-secret-of-recaptcha',
}

/**
 * Boots the kernel as bin/serve does: in production warnings are logged as JSON, in development everything for people.
 *
 * @param {readonly import('../dist/kernel/bundle.js').Bundle[]} [bundles] beside those of the framework and the site
 * @param {'prod' | 'dev'} [environment]
 * @param {Readonly<Record<string, string>>} [more] further variables
 */
export function bootKernel(bundles = [], environment = 'prod', more = {}) {
  const directory = path.join(import.meta.dirname, '..')
  // The peers log no requests either; `access-log` measures what the lines cost.
  const settings = new Settings({ variables: { ...variables, ACCESS_LOG: '0', ...more, APP_ENV: environment } })
  const config = readConfig(settings)
  const redactor = new Redactor(variables)
  const format = environment === 'dev' ? 'readable' : 'json'
  const logger = createLogger({ level: config.logLevel, format, stream: process.stdout, redactor })
  return Kernel.boot({
    settings,
    config,
    directory,
    bundles: [createFrameworkBundle(), siteBundle, ...bundles],
    logger,
    redactor,
  })
}
