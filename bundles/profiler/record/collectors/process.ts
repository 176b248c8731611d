import path from 'node:path'
import type { Foundation } from '../../../../kernel/bundle.ts'
import type { Config } from '../../../../lib/env/config.ts'
import { version } from '../../../../lib/package.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { readHandlebarsVersion } from '../../../../lib/view/view.ts'
import { roundTime } from '../../profile/format.ts'
import type { ConfigProcessData, ServerProcessData } from '../../profile/process-data.ts'
import type { CollectorOf } from '../collect.ts'

/** Collects the configuration of the application, for the process only. */
export class ConfigCollector implements CollectorOf<'config'> {
  readonly name = 'config'
  readonly #app: Pick<Foundation, 'bundles' | 'config'>

  constructor(app: Pick<Foundation, 'bundles' | 'config'>) {
    this.#app = app
  }

  collect(): undefined {}

  describeProcess(): ConfigProcessData {
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

/** The members of node's `process` that are recorded. */
export type ProcessLike = Pick<NodeJS.Process, 'arch' | 'argv' | 'cwd' | 'execArgv' | 'pid' | 'platform' | 'versions'>

/** Collects the environment of the process, for the process only. */
export class ServerCollector implements CollectorOf<'server'> {
  readonly name = 'server'
  readonly #app: Pick<Foundation, 'config' | 'directory' | 'redactor'>
  readonly #process: ProcessLike

  constructor(app: Pick<Foundation, 'config' | 'directory' | 'redactor'>, process: ProcessLike) {
    this.#app = app
    this.#process = process
  }

  collect(): undefined {}

  describeProcess(): ServerProcessData {
    const { config, redactor } = this.#app
    const { arch, pid, platform, versions } = this.#process
    return {
      environment: redactor.environment(),
      dotenvNames: config.dotenvNames,
      process: {
        pid,
        started: new Date(performance.timeOrigin).toISOString(),
        'command line': this.#commandLine(),
        'working directory': this.#relative(this.#process.cwd()),
        platform,
        architecture: arch,
      },
      versions: {
        sinfonietta: version,
        node: versions.node,
        v8: versions.v8,
        openssl: versions.openssl,
        handlebars: readHandlebarsVersion(),
      },
    }
  }

  #commandLine(): string {
    const { argv, execArgv } = this.#process
    const [, script = '', ...values] = argv
    return this.#app.redactor.commandLine(['node', ...execArgv, this.#relative(script), ...values]).join(' ')
  }

  /** The place of a project on a machine is not recorded. */
  #relative(file: string): string {
    const relative = path.relative(this.#app.directory, file)
    return relative.startsWith('..') ? path.basename(file) : relative || '.'
  }
}

/** Collects the resources that the process used from the start of a main request until its response was sent. */
export const memoryCollector: CollectorOf<'memory'> = {
  name: 'memory',
  collect(trace) {
    const { usage } = trace
    if (usage === undefined) return undefined
    const { heap, heapLimit, peak, system, user } = usage.readProcess()
    const { active, idle } = performance.eventLoopUtilization(usage.loop)
    usage.end = performance.now()
    return {
      wall: roundTime(usage.end - trace.start),
      cpu: { user: (user - usage.process.user) / 1000, system: (system - usage.process.system) / 1000 },
      loop: { active: roundTime(active), idle: roundTime(idle) },
      heap: { before: usage.process.heap, after: heap, limit: heapLimit },
      peak,
      requests: { others: usage.others, most: usage.most },
      pauses: usage.pauses,
      blocks: usage.blocks,
    }
  },
}
