import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { Bundle } from '../../kernel/bundle.ts'
import { ARGUMENT_INVALID, checkObject, checkOptions } from '../../lib/errors/arguments.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import { completeBundles } from '../application/complete-bundles.ts'
import { enableCodeCache } from '../application/sources.ts'
import { runMainProcess } from './main-process.ts'

/** An application that is a program of its own. */
export interface ServeOptions {
  /** The framework bundle, and those of development, need not be listed. */
  readonly bundles: readonly Bundle[]
}

const shape: ShapeOf<ServeOptions> = { bundles: true }

/**
 * Serves an application that is a program of its own. It has no supervisor, which would run the
 * program twice: `node --watch` starts it again after a change. @throws ARGUMENT_INVALID
 */
export async function serveOwnProgram(options: ServeOptions): Promise<void> {
  checkObject('serve()', options, shape)
  if ('port' in options || 'host' in options) {
    const right = '--port and --host are options of the command line; PORT is a variable of the environment, too'
    throw new ARGUMENT_INVALID(['serve()', `it has no options "port" and "host": ${right}`])
  }
  checkOptions('serve()', options, shape)
  const directory = findDirectory(process.argv[1])
  enableCodeCache(directory)
  await runMainProcess(directory, process.argv.slice(2), async config => {
    if (config.environment === 'dev') await openLoadedLibraries(directory)
    return completeBundles(options.bundles, config)
  })
}

/** Lets the libraries that the program has imported report what they do. */
async function openLoadedLibraries(directory: string): Promise<void> {
  const { listenToFrameworks, openLibraries } = await import('../../bundles/libraries/libraries.ts')
  await openLibraries(directory)
  listenToFrameworks()
}

/** The folder of the application: the one with the `package.json` of the program, or else that of the program. */
export function findDirectory(program: string | undefined): string {
  // Without a program, as with `node --eval`, it is the working directory.
  const own = program === undefined ? process.cwd() : path.dirname(realpathSync(program))
  for (let folder = own; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'package.json'))) return folder
    if (path.dirname(folder) === folder) return own
  }
}
