import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createFrameworkBundle } from '../bundles/framework/framework-bundle.ts'
import { openFrameworks } from '../bundles/profiler/any-server/frameworks.ts'
import { home } from '../bundles/profiler/profile/links.ts'
import { FileProfileStorage } from '../bundles/profiler/store/file-profile-storage.ts'
import { createViewerBundle } from '../bundles/profiler/viewer-bundle.ts'
import { CommandUsageError, exitCodes } from '../kernel/console-command.ts'
import { Kernel } from '../kernel/kernel.ts'
import { openLibraryChannels } from '../kernel/libraries/open-channels.ts'
import { SERVER_PORT_TAKEN } from '../kernel/server/errors.ts'
import { readConfig } from '../lib/env/config.ts'
import { Settings } from '../lib/env/settings.ts'
import { createLogger } from '../lib/log/create-logger.ts'
import { Redactor } from '../lib/redact/redactor.ts'
import { createNodeServer } from './create-node-server.ts'
import { isRefused, refusal } from './profile-refusal.ts'

/** The variables that are settings of the viewer. The application may have others of the same names as settings of a kernel. */
const ownSettings = /^(?:PROFILER_|DEBUG_ALLOWED_|DEBUG_KEY$|EDITOR_)/

/** The variables by which child processes, such as workers of a cluster, know the address of the pages, and the mark of replays. */
const viewerVariable = 'PROFILER_VIEWER'
const secretVariable = 'PROFILER_REPLAY_SECRET'

const defaultPort = 8100

/**
 * Records the requests of all servers of this process, and shows them on a port of its own, only for this machine. Reads no file of the
 * application, and does not keep the process alive.
 *
 * @throws the errors of `Kernel.boot`
 */
export async function profileProcess(
  directory: string = process.cwd(),
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { kernelOptions, parent, port, replaySecret } = prepareViewer(directory, env)
  await openLibraryChannels(directory)
  const [, program] = process.argv
  await openFrameworks([directory, ...(program === undefined ? [] : [path.dirname(program)])])
  const { app } = await Kernel.boot(kernelOptions)
  if (parent !== undefined) {
    app.signals.emit('server.listening', { url: parent })
    return
  }
  const url = await listen(createNodeServer(app, { isBackground: true }), port)
  Object.assign(env, { [viewerVariable]: url, [secretVariable]: replaySecret })
  process.stderr.write(`Profiler: ${url}${home}\n`)
}

/** Prepares the kernel that shows profiles. It is not booted. */
function prepareViewer(directory: string, env: NodeJS.ProcessEnv) {
  const {
    PROFILER_PORT: port,
    PROFILER_IN_PRODUCTION: _,
    PROFILER_SAME_PORT,
    PROFILER_TOOLBAR,
    ...picked
  } = pickSettings(env)
  const { [viewerVariable]: parent, [secretVariable]: known, ...own } = picked
  // The terminal belongs to the application: the pages of the viewer are not listed there.
  const fixed = { APP_ENV: 'dev', APP_SECRET: randomBytes(32).toString('hex'), ACCESS_LOG: '0' }
  const settings = new Settings({ variables: { ...own, ...fixed } })
  const config = readConfig(settings)
  // The object itself: the application may set variables while it starts.
  const redactor = new Redactor(env)
  const logger = createLogger({ level: 'warning', format: 'readable', stream: process.stderr, redactor })
  const folder = findFolder(directory)
  const replaySecret = known ?? keepSecret(path.join(folder, 'replay-secret'))
  const storage = new FileProfileStorage({
    directory: path.join(folder, 'profiler'),
    onProblem: (message, error) => logger.warning(message, { exception: error }),
  })
  const onFirst = () => {
    redactor.declare([])
    if (isRefused(env)) logger.warning(refusal)
    return !isRefused(env)
  }
  const viewer = createViewerBundle({
    storage,
    armFile: path.join(folder, 'cpu-profile.json'),
    onFirst,
    replaySecret,
    sharesPort: PROFILER_SAME_PORT === '1' || PROFILER_TOOLBAR === '1',
    hasToolbar: PROFILER_TOOLBAR === '1',
  })
  const bundles = [createFrameworkBundle(), viewer]
  const kernelOptions = { settings, config, directory, files: folder, bundles, logger, redactor }
  return { kernelOptions, parent, port, replaySecret }
}

/** Reads the secret that marks replays, or creates it: all processes that use the folder have the same. */
function keepSecret(file: string): string {
  const secret = randomBytes(16).toString('hex')
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, secret, { flag: 'wx', mode: 0o600 })
  } catch {
    // It exists, or cannot be written: then only child processes have the same secret.
  }
  try {
    return readFileSync(file, 'utf8') || secret
  } catch {
    return secret
  }
}

/** Answers a coding agent on stdin and stdout, from the profiles of the application in a directory. Resolves with the exit code. */
export async function answerAgent(directory: string): Promise<number> {
  const { env, stderr, stdin, stdout } = process
  const { loadCommands, runCommandLine } = await import('./console.ts')
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())
  const terminal = { stdin, stdout, stderr, env, signal: interrupted.signal }
  try {
    const { kernelOptions } = prepareViewer(directory, env)
    const kernel = await Kernel.assemble(kernelOptions)
    try {
      const { commands, config } = kernel.app
      return await runCommandLine(await loadCommands(commands), ['mcp'], terminal, config.environment)
    } finally {
      await kernel.close()
    }
  } catch (error) {
    const { describeFailure } = await import('./describe-failure.ts')
    stderr.write(`${describeFailure(error)}\n`)
    return exitCodes.failure
  }
}

function pickSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  const pairs = Object.entries(env).filter((pair): pair is [string, string] => ownSettings.test(pair[0]) && !!pair[1])
  return Object.fromEntries(pairs)
}

/** Watchers of sources leave out `node_modules`, and so does git. */
function findFolder(directory: string): string {
  const parent = path.dirname(directory)
  const modules = path.join(directory, 'node_modules')
  if (existsSync(modules)) return path.join(modules, '.cache/sinfonietta')
  return parent === directory ? path.join(tmpdir(), 'sinfonietta') : findFolder(parent)
}

/** Listens on the wanted port; without one on the usual port, or on a free one. */
async function listen(server: ReturnType<typeof createNodeServer>, port: string | undefined): Promise<string> {
  const host = '127.0.0.1'
  if (port === undefined) return server.listen(host, defaultPort).catch(() => server.listen(host, 0))
  if (!/^\d+$/.test(port) || Number(port) > 65_535) {
    throw new CommandUsageError(`PROFILER_PORT must be a number from 0 to 65535, not "${port}".`)
  }
  return server.listen(host, Number(port)).catch(error => {
    if (!(error instanceof SERVER_PORT_TAKEN)) throw error
    throw new CommandUsageError(`Port ${port}, which PROFILER_PORT names, is taken by another program.`)
  })
}
