import path from 'node:path'
import type { Foundation } from '../../../../kernel/bundle.ts'
import { readTime } from '../../../../lib/own-globals.ts'
import { version } from '../../../../lib/package.ts'
import { processStart } from '../../../../lib/process-start.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { readHandlebarsVersion } from '../../../../lib/view/handlebars.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { RecordedProcess, RecordedSubject } from '../../record/recorded-subject.ts'
import { isOwnProgram } from '../../record/recording-policy.ts'
import type { FileEdit } from './data.ts'
import { selectLoaded } from './loaded-files.ts'

/** The configuration of the application, and the environment of the process: the same for all requests. */
export const configSubject: RecordedSubject = {
  createCollectors: app => [createServerCollector(app, process), createConfigCollector(app)],
}

/** Collects the configuration of the application, for the process only. */
export function createConfigCollector({
  bundles,
  config,
  directory,
  redactor,
  settings,
}: Pick<Foundation, 'bundles' | 'config' | 'directory' | 'redactor' | 'settings'>) {
  return {
    name: 'config',
    collect: () => undefined,
    describeProcess() {
      const { debugAllowedIps, environment, hosts, isDebug, logLevel, trustedProxies } = config
      const listed = settings.list().map(({ bundle, from, name, value }) => {
        return { name, value: redactor.text(value), bundle, from }
      })
      return {
        environment,
        isDebug,
        logLevel,
        bundles,
        ...(isOwnProgram(directory) && { isOneProgram: true }),
        hosts,
        trustedProxies,
        debugAllowedIps,
        settings: listed,
      }
    },
  } satisfies CollectorOf<'config'>
}

/** The members of node's `process` that are recorded. */
type ProcessLike = Pick<NodeJS.Process, 'arch' | 'argv' | 'cwd' | 'execArgv' | 'pid' | 'platform' | 'versions'>

/** Earlier edits are no longer of interest. */
const editLimit = 20

/** Collects the environment of the process, for the process only. */
export function createServerCollector(
  {
    directory,
    findEdits,
    redactor,
    settings,
    signals,
  }: Pick<RecordedProcess, 'directory' | 'findEdits' | 'redactor' | 'settings' | 'signals'>,
  process: ProcessLike,
) {
  let edits: readonly FileEdit[] = []
  signals.on('process.restarted', restarted => {
    edits = restarted.edits
  })
  signals.on('files.changed', ({ files }) => {
    if (files.length > 0) edits = [...edits, { time: readTime(), files }].slice(-editLimit)
  })
  /** The edits of files that the process works with. */
  const listEdits = () => {
    const all = findEdits?.() ?? edits
    const loaded = selectLoaded(
      all.flatMap(({ files }) => files),
      directory,
    )
    const toMasked = (files: readonly string[]) =>
      files.filter(file => loaded.has(file)).map(file => redactor.text(file))
    return all.map(({ files, time }) => ({ time, files: toMasked(files) })).filter(({ files }) => files.length > 0)
  }
  return {
    name: 'server',
    collect: () => undefined,
    describeProcess() {
      const { arch, pid, platform, versions } = process
      return {
        environment: redactor.environment(),
        dotenvNames: Object.keys(settings.files).sort(),
        edits: listEdits(),
        process: {
          pid,
          started: new Date(processStart()).toISOString(),
          'command line': writeCommandLine(process, directory, redactor),
          'working directory': toRelative(process.cwd(), directory),
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
    },
  } satisfies CollectorOf<'server'>
}

function writeCommandLine({ argv, execArgv }: ProcessLike, directory: string, redactor: Redactor): string {
  const [, script = '', ...values] = argv
  // A supervisor passes the directory of the application to the main process, and edits, which
  // have a place of their own.
  const given = values.filter(value => !value.startsWith('--edits='))
  const shown = given.map(value => (value === directory ? '.' : value))
  return redactor.commandLine(['node', ...execArgv, toRelative(script, directory), ...shown]).join(' ')
}

/** The place of an application on a machine is not recorded. */
function toRelative(file: string, directory: string): string {
  const relative = path.relative(directory, file)
  return relative.startsWith('..') ? path.basename(file) : relative || '.'
}
