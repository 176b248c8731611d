import './node-version.ts'
import { parseArgs } from 'node:util'
import type { Application } from '../kernel/bundle.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { NodeServer, NodeServerOptions } from '../kernel/server/node-server.ts'
import { environmentOf, readDotenv } from '../lib/env/dotenv.ts'
import { ARGUMENT_INVALID, checkOptions } from '../lib/errors/arguments.ts'
import { createSources, enableCodeCache, toDirectory } from './application/sources.ts'
import type { ServeOptions } from './serving/own-program.ts'

// What a program does not need is not loaded: the supervisor needs no kernel, and the server no parser of commands.

const portAdvice = 'the port is the option --port of the command line, or the variable PORT'

/**
 * Serves an application, with the options of the command line of the process. The application is
 * the list of its bundles, or its directory, with `bundles/index.ts`: that is the program
 * `bin/serve`. In development `bin/serve` starts a supervisor, which starts the server again after
 * a change. Elsewhere this process is the server, or with `--workers` it starts several.
 *
 * @throws ARGUMENT_INVALID
 */
export async function serve(application: string | URL | ServeOptions): Promise<void> {
  // biome-ignore lint/complexity/noArguments: another parameter would be one of the interface.
  if (arguments.length > 1) throw new ARGUMENT_INVALID(['serve()', `it takes one argument: ${portAdvice}`])
  if (typeof application !== 'string' && !(application instanceof URL)) {
    const { serveOwnProgram } = await import('./serving/own-program.ts')
    return serveOwnProgram(application)
  }
  const root = toDirectory(application)
  enableCodeCache(root)
  const commandLine = process.argv.slice(2)
  if (isDevelopment(root, commandLine)) {
    const { supervise } = await import('./serving/supervisor.ts')
    await supervise(root, commandLine)
  } else if (await createSources(root).buildWhenStale()) {
    const { runMainProcess } = await import('./serving/main-process.ts')
    await runMainProcess(root, commandLine)
  } else process.exitCode = 2
}

/** The program `bin/console` of the application in a directory: runs the command of the command line of the process. */
export async function runConsole(directory: string | URL): Promise<void> {
  const root = toDirectory(directory)
  enableCodeCache(root)
  const commandLine = process.argv.slice(2)
  const readsProfiles = /^(?:profiler:|mcp$|__complete$)/.test(commandLine[0] ?? '')
  // Before the console is loaded: in the repository of the package, it is one of the compiled sources.
  const sources = createSources(root)
  const isCurrent = await sources.buildWhenStale()
  if (isCurrent || (readsProfiles && sources.isBuilt())) {
    // A profile may show the mistake because of which the sources do not compile.
    if (!isCurrent) process.stderr.write('The sources do not compile: the command runs from the last build.\n')
    // Reading source maps takes a tenth of a second, and profiles hold the places in sources already.
    process.setSourceMapsEnabled(!readsProfiles)
    const { runConsoleProcess } = await import('./commands/console.ts')
    await runConsoleProcess(root, commandLine)
  } else {
    process.stderr.write('The command was not run: the sources do not compile.\n')
    process.exitCode = 1
  }
}

/**
 * The program `bin/test` of the application in a directory: runs its tests, or those that the command line of the
 * process names. All other arguments are options of tap if the application has it, and else of Node's test runner.
 */
export async function runTests(directory: string | URL): Promise<void> {
  const { runApplicationTests } = await import('./testing/run-tests.ts')
  process.exitCode = await runApplicationTests(toDirectory(directory), process.argv.slice(2))
}

/** The options of {@link bootApplication}. */
export interface BootOptions {
  /** `dev`, `prod` or `test`; by default `APP_ENV`. */
  readonly environment?: string
}

/**
 * Boots the application in a directory, for a program of your own: reads the `.env` files, loads the bundles and checks
 * the templates. Where Node does not run TypeScript, it compiles what is stale before. The log goes to stdout.
 *
 * @throws CONFIG_INVALID APPLICATION_NOT_COMPILED APPLICATION_BUNDLES_MISSING and the errors of a bundle
 */
export async function bootApplication(directory: string | URL, options: BootOptions = {}): Promise<Kernel> {
  checkOptions('bootApplication()', options, { environment: 'string' })
  const { bootServed } = await import('./application/application.ts')
  return bootServed(directory, options.environment)
}

/**
 * Creates the server of a booted application, for a program of your own. By default it trusts the proxies of the
 * application's settings.
 */
export async function createNodeServer(app: Application, options?: Partial<NodeServerOptions>): Promise<NodeServer> {
  const { createNodeServer } = await import('./application/create-node-server.ts')
  return createNodeServer(app, options)
}

/**
 * Whether the settings choose development. `--help` needs no supervisor, and with
 * `NODE_ENV=production` nothing waits for changes.
 */
function isDevelopment(directory: string, commandLine: readonly string[]): boolean {
  const options = { env: { type: 'string' }, help: { type: 'boolean' } } as const
  const { values } = parseArgs({ args: [...commandLine], options, strict: false })
  try {
    const { variables } = readDotenv(directory, process.env, values.env?.toString())
    return environmentOf(variables) === 'dev' && variables.NODE_ENV !== 'production' && !values.help
  } catch {
    // A .env file has a mistake. The main process reports it.
    return false
  }
}
