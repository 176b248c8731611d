import path from 'node:path'
import type { Foundation } from '../../../../kernel/bundle.ts'
import { version } from '../../../../lib/package.ts'
import { processStart } from '../../../../lib/process-start.ts'
import { readHandlebarsVersion } from '../../../../lib/view/handlebars.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { ConfigProcessData, FileEdit, ServerProcessData } from './data.ts'

/** Collects the configuration of the application, for the process only. */
export class ConfigCollector implements CollectorOf<'config'> {
  readonly name = 'config'
  readonly #app: Pick<Foundation, 'bundles' | 'config' | 'redactor' | 'settings'>

  constructor(app: Pick<Foundation, 'bundles' | 'config' | 'redactor' | 'settings'>) {
    this.#app = app
  }

  collect(): undefined {}

  describeProcess(): ConfigProcessData {
    const { bundles, config, redactor } = this.#app
    const { debugAllowedIps, environment, hosts, isDebug, logLevel, trustedProxies } = config
    const listed = this.#app.settings.list()
    const settings = listed.map(({ bundle, from, name, value }) => {
      return { name, value: redactor.text(value), bundle, from }
    })
    return { environment, isDebug, logLevel, bundles, hosts, trustedProxies, debugAllowedIps, settings }
  }
}

/** The members of node's `process` that are recorded. */
type ProcessLike = Pick<NodeJS.Process, 'arch' | 'argv' | 'cwd' | 'execArgv' | 'pid' | 'platform' | 'versions'>

/** Earlier edits are no longer of interest. */
const editLimit = 20

/** Collects the environment of the process, for the process only. */
export class ServerCollector implements CollectorOf<'server'> {
  readonly name = 'server'
  readonly #app: Pick<Foundation, 'directory' | 'redactor' | 'settings'>
  readonly #process: ProcessLike
  #edits: readonly FileEdit[] = []

  constructor(app: Pick<Foundation, 'directory' | 'redactor' | 'settings' | 'signals'>, process: ProcessLike) {
    this.#app = app
    this.#process = process
    const toMasked = ({ files, time }: FileEdit) => ({ time, files: files.map(file => app.redactor.text(file)) })
    app.signals.on('process.restarted', ({ edits }) => {
      this.#edits = edits.map(toMasked)
    })
    app.signals.on('files.changed', ({ files }) => {
      if (files.length > 0) this.#edits = [...this.#edits, toMasked({ time: Date.now(), files })].slice(-editLimit)
    })
  }

  collect(): undefined {}

  describeProcess(): ServerProcessData {
    const { redactor, settings } = this.#app
    const { arch, pid, platform, versions } = this.#process
    return {
      environment: redactor.environment(),
      dotenvNames: Object.keys(settings.files).sort(),
      edits: this.#edits,
      process: {
        pid,
        started: new Date(processStart()).toISOString(),
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
    const { directory, redactor } = this.#app
    // A supervisor passes the directory of the application to the main process, and edits, which are on their own.
    const given = values.filter(value => !value.startsWith('--edits='))
    const shown = given.map(value => (value === directory ? '.' : value))
    return redactor.commandLine(['node', ...execArgv, this.#relative(script), ...shown]).join(' ')
  }

  /** The place of an application on a machine is not recorded. */
  #relative(file: string): string {
    const relative = path.relative(this.#app.directory, file)
    return relative.startsWith('..') ? path.basename(file) : relative || '.'
  }
}
