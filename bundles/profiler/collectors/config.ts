import type { Foundation } from '../../../kernel/bundle.ts'
import type { Config } from '../../../lib/env/config.ts'
import { mask } from '../../../lib/redact/secret-names.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

/** What an application was started with, told once for all profiles of its process. */
export interface ConfigFacts {
  readonly environment: string
  readonly isDebug: boolean
  readonly logLevel: string
  readonly bundles: readonly string[]
  readonly hosts: readonly string[]
  readonly trustedProxies: readonly string[]
  readonly debugAllowedIps: readonly string[]
  /** The settings that nobody sees, by the names of their variables: masked, or empty. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Tells how the application is configured. There is nothing to tell of a single request. */
export class ConfigCollector implements ProfileCollector {
  readonly name = 'config'
  readonly #app: Pick<Foundation, 'bundles' | 'config'>

  constructor(app: Pick<Foundation, 'bundles' | 'config'>) {
    this.#app = app
  }

  collect(): undefined {}

  describeProcess(): ConfigFacts {
    const { bundles, config } = this.#app
    const { debugAllowedIps, environment, hosts, isDebug, logLevel, trustedProxies } = config
    const secrets = Object.fromEntries(secretsOf(config).map(([name, value]) => [name, value ? mask : '']))
    return { environment, isDebug, logLevel, bundles, hosts, trustedProxies, debugAllowedIps, secrets }
  }
}

function secretsOf(config: Config): [name: string, value: string | undefined][] {
  return [
    ['APP_SECRET', config.secret],
    ['DEBUG_KEY', config.debugKey],
    ['DATABASE_URL', config.databaseUrl],
    ['MAILER_DSN', config.mailerDsn],
    ['RECAPTCHA3_KEY', config.recaptcha3Key],
    ['RECAPTCHA3_SECRET', config.recaptcha3Secret],
    ['ADMIN_STATUS_TOKEN', config.adminStatusToken],
  ]
}
