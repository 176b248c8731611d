import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { noteBundledCopies } from '../../bundles/libraries/bundled-copies.ts'
import { lateLibraries, libraries, openFrameworks, openLibraries } from '../../bundles/libraries/libraries.ts'
import { observeLoads } from '../../bundles/libraries/library.ts'
import { type AddToolbar, policyNames } from '../../bundles/profiler/any-server/toolbar.ts'
import { home } from '../../bundles/profiler/profile/links.ts'
import { ServerRecorder } from '../../bundles/profiler/server-recorder.ts'
import { programSettings } from '../../bundles/profiler/settings.ts'
import { warnBy } from '../../bundles/profiler/store/base-profile-storage.ts'
import { FileProfileStorage } from '../../bundles/profiler/store/file-profile-storage.ts'
import type { ProfileStorage } from '../../bundles/profiler/store/profile-storage.ts'
import { CommandUsageError } from '../../kernel/contracts/console-command.ts'
import { SERVER_PORT_TAKEN } from '../../kernel/server/errors.ts'
import { createServer, listen } from '../../kernel/server/http-server.ts'
import type { NodeServer } from '../../kernel/server/node-server.ts'
import { asHosts, readConfig } from '../../lib/env/config.ts'
import { Settings } from '../../lib/env/settings.ts'
import { guard } from '../../lib/guard.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { startInterval, stopTimer } from '../../lib/own-globals.ts'
import { processStart } from '../../lib/process-start.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import { asRedisUrl } from '../../lib/text/conversion.ts'
import { nearestNames, quoteNearest } from '../../lib/text/mistakes.ts'
import { addProgram, type Program, readSecret } from '../application/program-list.ts'
import { findEdits } from './find-edits.ts'
import { findFolder, keepSecret } from './profile-folder.ts'
import { describeRefusal, isRefused } from './profile-refusal.ts'
import type { ViewerServices } from './profile-viewer.ts'
import { recordCommand } from './record-command.ts'
import { storeEndedCommands } from './running-commands.ts'

/**
 * The variables that are settings of the viewer. The application may have others of the same names
 * as settings of a kernel.
 */
const ownSettings = /^(?:PROFILER_|DEBUG_ALLOWED_|DEBUG_KEY$|EDITOR_)/

/**
 * The variables by which child processes, such as workers of a cluster, know the address of the
 * pages, and the mark of replays.
 */
const viewerVariable = 'PROFILER_VIEWER'
const secretVariable = 'PROFILER_REPLAY_SECRET'

const defaultPort = 8100

const lateWarning =
  'The program itself has set {names}, after the profiler has started: set it in the terminal, or by node --env-file=.env.'

/** Modules beside an import that waits do not wait for it: even as the first one, it comes too late. */
const loadedWarning =
  'The program has loaded {names} before the profiler, which sees less of it then: load it first, by node --import sinfonietta/profile or sinfonietta profile.'

/**
 * Records the requests of all servers of this process, and shows them on a port of its own, only
 * for this machine. What shows them is loaded with the first request for a page. Reads no file of
 * the application, and does not keep the process alive.
 *
 * @throws CONFIG_INVALID CommandUsageError
 */
export async function profileProcess(
  directory: string = process.cwd(),
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { hasToolbar, parent, port, services, settings, sharesPort, storage } = await prepareProfiler(directory, env)
  const { logger, recorder } = services
  storage.check?.().catch(error => logger.warning('Profiles cannot be stored.', { exception: error }))
  await openLibraries(directory)
  observeLoads()
  noteBundledCopies(libraries, directory)
  const [, program] = process.argv
  await openFrameworks([directory, ...(program === undefined ? [] : [path.dirname(program)])])
  // After the libraries are watched: the application may use the same package. A missing package ends the start.
  if (storage.isShared) await (await import('../../lib/redis/redis-connection.ts')).loadRedis()
  void storeEndedCommands(services.files, storage)
  const answer = answerLate(async () => (await import('./profile-viewer.ts')).bootViewer(services), logger)
  const started = { ...env }
  if (parent === undefined) warnOfUnknownVariables(env, settings, logger)
  if (parent === undefined && lateLibraries.length > 0)
    logger.warning(loadedWarning, { names: lateLibraries.join(', ') })
  // The application listens on PORT.
  const freePort = env.PORT === String(defaultPort) ? 0 : undefined
  const viewer = parent ?? (await listenFor(answer, port ?? freePort, true))
  recorder.start({
    viewer,
    onFirst() {
      // The application may have set variables while it started.
      services.redactor.declare([])
      const late = Object.keys(env).filter(name => name.startsWith('PROFILER_') && env[name] !== started[name])
      if (late.length > 0) logger.warning(lateWarning, { names: late.join(', ') })
      if (isRefused(env)) logger.warning(describeRefusal(env))
      return !isRefused(env)
    },
    ...(sharesPort && { answerOwn: answer }),
    ...(hasToolbar && { addToolbar: await loadToolbar(logger) }),
  })
  if (parent !== undefined) return
  // Programs that inherit their options, such as npm, are not what is asked for.
  if (!/sinfonietta|exports\/profile\.js/.test(env.NODE_OPTIONS ?? ''))
    recordCommand(directory, services.files, () => !isRefused(env))
  const inherited = { [viewerVariable]: viewer, [secretVariable]: recorder.replaySecret }
  for (const variables of [env, started]) Object.assign(variables, inherited)
  process.stderr.write(describeAddress(viewer, env))
}

/** The lines with the address of the pages. */
export function describeAddress(viewer: string, { DEBUG_KEY }: NodeJS.ProcessEnv): string {
  const link = DEBUG_KEY ? `Open this once in your browser: ${viewer}/_debug?key=${DEBUG_KEY}\n` : ''
  return `Profiler: ${viewer}${home}\n${link}`
}

/** Stores the profile of a command in a directory that a signal has ended. */
export async function storeEndedCommand(directory: string, pid: number, signal: string): Promise<void> {
  const { services, storage } = await prepareProfiler(directory, process.env)
  if (storage.isShared) await (await import('../../lib/redis/redis-connection.ts')).loadRedis()
  await storeEndedCommands(services.files, storage, new Map([[pid, signal]]))
  await storage.close()
}

/**
 * Warns of variables that have no effect: those of the profiler, and others with one mistake in the name of a setting
 * that is not set, if their value fits. The application has variables of its own, and Kubernetes those of its services.
 */
function warnOfUnknownVariables(env: NodeJS.ProcessEnv, settings: Settings, logger: Logger): void {
  const known = settings.list().flatMap(({ name }) => (ownSettings.test(name) ? name : []))
  const unset = known.filter(name => env[name] === undefined)
  for (const [name, text = ''] of Object.entries(env)) {
    if (known.includes(name) || /_(?:SERVICE|PORT)_/.test(name) || text.startsWith('tcp:')) continue
    const isOurs = name.startsWith('PROFILER_')
    const nearest = nearestNames(name, unset, isOurs ? 2 : 1).filter(each => isOurs || settings.accepts(each, text))
    const suggestion = quoteNearest(nearest) || ': "sinfonietta profile --help" lists the variables'
    if (isOurs || nearest.length > 0)
      logger.warning('The variable {name} has no effect on the profiler{suggestion}.', { name, suggestion })
  }
}

/**
 * Creates what records the requests of a process, and what the viewer of its profiles needs. Nothing is recorded
 * yet. For a viewer of another program, `files` is the folder with its files, and it is not added to the list.
 */
export async function prepareProfiler(directory: string, env: NodeJS.ProcessEnv, shown?: Program) {
  const { [viewerVariable]: parent, [secretVariable]: known, ...own } = pickSettings(env)
  // The terminal belongs to the application: the pages of the viewer are not listed there.
  const fixed = { APP_ENV: 'dev', APP_SECRET: randomBytes(32).toString('hex'), ACCESS_LOG: '0' }
  // The application may have another setting of this name.
  const hosts = asHosts.convert(env.APP_HOSTS ?? '') === undefined ? undefined : env.APP_HOSTS
  const variables = { ...own, ...(hosts && { APP_HOSTS: hosts }), ...fixed }
  const settings = new Settings({ variables })
  const config = readConfig(settings)
  settings.declare('profile', programSettings)
  // The object itself: the application may set variables while it starts.
  const redactor = new Redactor(env)
  const logger = createLogger({ level: 'warning', format: 'readable', stream: process.stderr, redactor })
  const files = shown?.files ?? findFolder(directory)
  // With a wrong URL, the recorder lists the mistakes of all settings.
  const url = asRedisUrl.convert(env.PROFILER_URL ?? '')
  const storage: ProfileStorage = url
    ? await openRedis(url, logger)
    : new FileProfileStorage({ directory: path.join(files, 'profiler'), onProblem: warnBy(logger) })
  const recorder = new ServerRecorder({
    settings,
    config,
    directory,
    logger,
    redactor,
    storage,
    armFile: path.join(files, 'cpu-profile.json'),
    replaySecret: known ?? (shown === undefined ? keepSecret(files) : (readSecret(files) ?? '')),
    findEdits: () => findEdits(directory, path.join(files, 'edits.json'), processStart()),
  })
  const { PROFILER_ALONE, PROFILER_PORT, PROFILER_SAME_PORT, PROFILER_TOOLBAR } = settings.of(programSettings)
  const isAlone = PROFILER_ALONE || storage.isShared === true
  const isListed =
    !isAlone && (shown !== undefined || listProgram({ directory, files }, recorder.profiler.origin.program))
  const services: ViewerServices = { recorder, variables, directory, files, isListed, logger, redactor }
  const sharesPort = PROFILER_TOOLBAR || PROFILER_SAME_PORT
  return { services, settings, storage, parent, port: PROFILER_PORT, hasToolbar: PROFILER_TOOLBAR, sharesPort }
}

/** Opens the store of several machines. @throws REDIS_URL_INVALID */
async function openRedis(url: string, logger: Logger): Promise<ProfileStorage> {
  const { createRedisProfileStorage } = await import('../../bundles/profiler/store/redis/redis-profile-storage.ts')
  return createRedisProfileStorage({ url })({ logger })
}

/** Adds this program to the list of those that are shown together; `false` if other users can write there. */
function listProgram(program: Program, name: string): boolean {
  try {
    addProgram(program, name)
    return true
  } catch {
    // The program is shown alone.
    return false
  }
}

/** Answers a request. */
type Answer = (...parameters: Parameters<NodeServer['receive']>) => unknown

/** Returns a function that answers requests. Its code is loaded with the first one. */
export function answerLate(load: () => Promise<Answer>, logger: Logger): Answer {
  let loaded: Promise<Answer> | undefined
  return async (message, reply) => {
    try {
      loaded ??= load()
      const answer = await loaded
      await answer(message, reply)
    } catch (error) {
      // The application may have replaced a function of the platform for a while.
      loaded = undefined
      logger.error('The pages of the profiler cannot be shown.', { exception: error })
      if (reply.headersSent) reply.destroy()
      else
        reply.writeHead(500).end('The pages of the profiler cannot be shown. The output of the application says why.\n')
    }
  }
}

async function loadToolbar(logger: Logger) {
  const [{ PageToolbar }, { createAssets }] = await Promise.all([
    import('../../bundles/profiler/web/toolbar/page-toolbar.ts'),
    import('../../bundles/profiler/web/assets.ts'),
  ])
  const named = new Set<string>()
  const onObstacle = (obstacle: string) => {
    if (!named.has(obstacle)) logger.warning('Pages have no toolbar: {obstacle}.', { obstacle })
    named.add(obstacle)
  }
  const toolbar = new PageToolbar({ assets: createAssets(), onObstacle })
  const add: AddToolbar = (response, request, token) => {
    const policies = () => policyNames.map(name => response.headers.get(name)).join()
    const before = policies()
    toolbar.addTo(response, request, token)
    if (policies() !== before)
      onObstacle("their Content-Security-Policy does not allow 'self' as script-src and connect-src")
  }
  return add
}

function pickSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  const pairs = Object.entries(env).filter((pair): pair is [string, string] => ownSettings.test(pair[0]) && !!pair[1])
  return Object.fromEntries(pairs)
}

/** Milliseconds between two attempts to take over the usual port. */
const attemptInterval = 1000

/** Listens on the usual port, too, when the program ends that has it: all profiles have one address that stays. */
function takeOver(listenOn: (port: number) => Promise<unknown>): void {
  const attempt = guard('the usual port', async (): Promise<void> => {
    const address = await listenOn(defaultPort).catch(() => undefined)
    if (address !== undefined) stopTimer(timer)
  })
  const timer: NodeJS.Timeout = startInterval(attempt, attemptInterval).unref()
}

/**
 * Listens on the wanted port; without one on the usual port, or on a free one. In the background,
 * the process may end while it listens.
 */
export async function listenFor(answer: Answer, port: number | undefined, isInBackground: boolean): Promise<string> {
  const listenOn = async (port: number) => {
    const server = await createServer(answer, undefined)
    if (isInBackground) server.unref().on('connection', socket => socket.unref())
    return listen(server, '127.0.0.1', port, undefined)
  }
  if (port === undefined) {
    return listenOn(defaultPort).catch(() => {
      takeOver(listenOn)
      return listenOn(0)
    })
  }
  return listenOn(port).catch(error => {
    if (!(error instanceof SERVER_PORT_TAKEN)) throw error
    throw new CommandUsageError(
      `Port ${port}, which PROFILER_PORT names, is taken by another program: name another port, or 0 for a free one.`,
    )
  })
}
