import path from 'node:path'
import type { Foundation } from '../../../kernel/bundle.ts'
import { version } from '../../../kernel/version.ts'
import { readHandlebarsVersion } from '../../../lib/view/view.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

/** What a process runs with; the names are those of node's `process`. */
export type ProcessLike = Pick<NodeJS.Process, 'arch' | 'argv' | 'cwd' | 'execArgv' | 'pid' | 'platform' | 'versions'>

/** The facts of a process, told once for all of its profiles. */
export interface ServerFacts {
  /** Values by name, masked but for those that may be seen. */
  readonly environment: Readonly<Record<string, string>>
  /** The names of those that come from `.env` files. */
  readonly dotenvNames: readonly string[]
  readonly process: Readonly<Record<string, string | number>>
  readonly versions: Readonly<Record<string, string>>
}

/** Tells what the process runs in. There is nothing to tell of a single request. */
export class ServerCollector implements ProfileCollector {
  readonly name = 'server'
  readonly #app: Pick<Foundation, 'config' | 'directory' | 'redactor'>
  readonly #process: ProcessLike

  constructor(app: Pick<Foundation, 'config' | 'directory' | 'redactor'>, process: ProcessLike) {
    this.#app = app
    this.#process = process
  }

  collect(): undefined {}

  describeProcess(): ServerFacts {
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

  /** Where a project lies on a machine is nobody's business. */
  #relative(file: string): string {
    const relative = path.relative(this.#app.directory, file)
    return relative.startsWith('..') ? path.basename(file) : relative || '.'
  }
}
