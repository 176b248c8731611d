import cluster from 'node:cluster'
import { X509Certificate } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import type { Server } from 'node:net'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import v8 from 'node:v8'
import type { Application, SourceProblem } from '../../kernel/bundle.ts'
import { exitCodes } from '../../kernel/contracts/console-command.ts'
import { isDebugOn } from '../../kernel/debug/debug-gate.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN, SERVER_TLS_INVALID } from '../../kernel/server/errors.ts'
import { type ClosingTimes, keepAliveTime, type TlsIdentity } from '../../kernel/server/http-server.ts'
import { workerNumber } from '../../kernel/server/worker-number.ts'
import type { Config } from '../../lib/env/config.ts'
import { findOwnFrame, locateFrame } from '../../lib/stack/stack-frames.ts'
import { toAmount } from '../../lib/text/describe-value.ts'
import {
  checkSettings,
  createProcessLogger,
  type LoadBundles,
  loadApplication,
  readSettings,
} from '../application/application.ts'
import { createNodeServer } from '../application/create-node-server.ts'
import { describeFailure, toSourceProblems } from '../application/describe-failure.ts'
import { createCodeCacheChecks, flushCodeCache } from '../application/sources.ts'
import { report, type ToMainProcess } from './child-processes.ts'
import { help, type Options, parseOptions, UsageError } from './serve-options.ts'
import { leaveMainProcess, runWorkers, untilRetired } from './workers.ts'

/** The times of a shutdown. */
const stopTimes = { deadline: 10_000, linger: 500 }
/** A new worker already serves, so an idle connection stays open as long as the server has announced to its client. */
const retirementTimes = { deadline: 30_000, linger: keepAliveTime }
/**
 * The next main process waits until this one takes no requests, and then serves: a reload of a page must
 * show its code. A client that has just connected may be slow to send its request, if the machine is busy.
 */
const replacementTimes = { deadline: 10_000, linger: 5_000, onReplaceable: () => report('retired') }
/** A restart after each change, and Ctrl-C, must not wait for a page that is still open in a browser. */
const developmentTimes = { deadline: 1_000, linger: 0 }

/** Milliseconds that a slow reader of stdout has for the last log lines. */
const flushTime = 3_000

/** The main process and each worker of the application in a directory, from the start to the end of the process. */
export async function runMainProcess(
  directory: string,
  commandLine: readonly string[],
  load?: LoadBundles,
): Promise<void> {
  // Not in a worker: its IPC channel belongs to node:cluster, which ends the worker when the channel is closed.
  if (cluster.isPrimary) {
    // The supervisor has ended, and no other process would end this one.
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel?.unref()
    reportPorts()
  }
  process.setSourceMapsEnabled(true)
  reportExit(directory)
  await serveApplication(directory, commandLine, load)
  // The process ends even if a bundle has left a handle open, but after stdout has taken the last log lines.
  setTimeout(process.exit, flushTime)
  process.stdout.write('', () => process.exit())
}

/**
 * Serves an application with the options of a command line until SIGTERM or SIGINT. Then it sets the exit code of the
 * process. The exit code is 64 for an error that no change of a file can correct; the supervisor and the main process
 * then start no further process.
 */
export async function serveApplication(
  directory: string,
  commandLine: readonly string[],
  load?: LoadBundles,
): Promise<void> {
  try {
    const options = parseOptions(commandLine)
    if (options === 'help') process.stdout.write(help)
    else process.exitCode = await serveUntilEnd(directory, options, commandLine, load)
  } catch (error) {
    print(error)
    await reportProblems(error, directory)
    process.exitCode = usageErrors.some(type => error instanceof type) ? exitCodes.usage : exitCodes.failure
  }
}

/** Reports the reason of a failed start, which is shown in the place of the application. A worker has no supervisor. */
async function reportProblems(error: unknown, directory: string): Promise<void> {
  if (cluster.isPrimary) await report({ problems: toSourceProblems(error, directory) })
}

/**
 * Reports to the supervisor the ports and paths on which servers of this process listen, also
 * those of bundles, or cannot listen.
 */
function reportPorts(): void {
  subscribe('tracing:net.server.listen:asyncEnd', message => {
    const address = (message as { readonly server: Server }).server.address()
    if (address !== null) void report({ listensOn: typeof address === 'string' ? address : address.port })
  })
  subscribe('tracing:net.server.listen:error', message => {
    const { address = '', code, port = 0 } = (message as { readonly error: ListenError }).error
    // The path of a socket has the port -1.
    if (code === 'EADDRINUSE') void report({ taken: port > 0 ? port : address })
  })
}

type ListenError = NodeJS.ErrnoException & { readonly address?: string; readonly port?: number }

const startProgram = path.join(import.meta.dirname, 'worker.js')

const usageErrors = [UsageError, SERVER_PORT_TAKEN, SERVER_LISTEN_FAILED, SERVER_TLS_INVALID]

function print(error: unknown): void {
  process.stderr.write(`${describeFailure(error)}\n`)
}

/** Serves until a signal, the next process or a crash ends it. Returns the exit code. */
async function serveUntilEnd(
  directory: string,
  options: Options,
  commandLine: readonly string[],
  load: LoadBundles | undefined,
): Promise<number> {
  const settings = readSettings(directory, process.env, options.environment)
  const { config } = settings
  if (options.workers > 0 && cluster.isPrimary) {
    // A worker that refuses its settings would be started again and again.
    await checkSettings(settings, load)
    // A program of its own is also the program of its workers.
    const [program = '', ...parameters] = load === undefined ? [startProgram, directory] : process.argv.slice(1, 2)
    return serveWithWorkers(options, program, [...parameters, ...commandLine], config)
  }
  if (options.inspectPort !== undefined) await openInspector(options.inspectPort)

  const isDevelopment = config.environment === 'dev'
  const isOwnProgram = load !== undefined
  const logger = createProcessLogger(settings)
  const warns = workerNumber() === 1 && !options.isRestarted

  const kernel = await loadApplication(settings, { load, logger, isServed: true, warns })
  const { app } = kernel
  app.healthChecks.push(...createCodeCacheChecks(directory))
  if (options.edits.length > 0) app.signals.emit('process.restarted', { edits: options.edits })
  // After a change of flags, V8 rejects code that was compiled before, also that of Node's own modules.
  flushCodeCache()
  tuneGarbageCollector()
  const server = createNodeServer(app, { identity: options.identity })
  let isEnding = false
  const close = (times: ClosingTimes, isHurried = isDevelopment) => {
    isEnding = true
    return server.close(isHurried ? developmentTimes : times)
  }
  // Each of them closes the server, also if it is not the first: a signal shortens the time of a retiring worker.
  const ended = Promise.race([
    // To a program of its own, `node --watch` sends SIGTERM after each change.
    untilSignal().then(signal =>
      close(stopTimes, isDevelopment && (isOwnProgram || signal === 'SIGINT')).then(() => 0),
    ),
    untilRetired().then(() => close(isDevelopment ? replacementTimes : retirementTimes, false).then(() => 0)),
    untilCrash((error, cause) => {
      logCrash(app, error, cause)
      void reportProblems(error, directory)
    }).then(() => close(stopTimes).then(() => 1)),
  ])
  let sources: Extract<ToMainProcess, { broken: unknown }> = { broken: [], isCurrent: true }
  let templateProblems: readonly SourceProblem[] = []
  const onMessage = (message: ToMainProcess) => {
    // Other messages are about the change of processes.
    if (typeof message === 'string' || 'options' in message) return
    if ('reload' in message) templateProblems = reload(kernel, message.reload)
    else sources = message
    const problems = [...sources.broken, ...templateProblems]
    const served = sources.isCurrent && templateProblems.length === 0 ? 'current' : 'older'
    app.signals.emit('sources.broken', { problems, served })
  }
  if (isDevelopment) process.on('message', onMessage)
  // A server of a bundle emits the error of its port in a later turn. Then the running process must not end.
  await nextTurn()
  if (cluster.isPrimary && options.socket !== undefined && !isEnding) await untilPredecessorRetired()
  if (!isEnding) {
    const url = await server.listen(options.host, options.port, options.socket).catch(async error => {
      // As after any other failed start. A failure to close would hide the first one.
      await kernel.close().catch(() => undefined)
      throw error
    })
    if (cluster.isPrimary) announce(url, config, options)
    const hasFiles = app.bundles.includes('profiler') && !process.env.PROFILER_URL
    if (isDevelopment && hasFiles && process.env.PROFILER_ALONE !== '1') {
      const { listApplication } = await import('../application/program-list.ts')
      listApplication(app)
    }
  }

  const onFiles = (names: readonly string[]) => onMessage({ reload: names })
  const stopWatch =
    isDevelopment && isOwnProgram ? (await import('./read-files.ts')).watchReadFiles(directory, onFiles) : undefined

  const code = await ended
  stopWatch?.()
  process.off('message', onMessage)
  await kernel.close()
  await leaveMainProcess()
  return code
}

/** Reports to the supervisor that this process could listen, and resolves when it should. */
async function untilPredecessorRetired(): Promise<void> {
  const gone = new Promise<void>(resolve =>
    process.on('message', (message: ToMainProcess) => message === 'go' && resolve()),
  )
  // Nothing else may keep this process running yet.
  process.channel?.ref()
  void report('ready')
  await gone
  process.channel?.unref()
}

/** The main process with `--workers`: it serves no request itself. */
function serveWithWorkers(
  options: Options,
  program: string,
  commandLine: readonly string[],
  config: Config,
): Promise<number> {
  const { host, identity, workers } = options
  const scheme = identity === undefined ? 'http' : 'https'
  return runWorkers({
    count: workers,
    program,
    commandLine,
    finalCode: exitCodes.usage,
    report: message => process.stderr.write(`${message}\n`),
    onReady: ({ port }) => announce(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, config, options),
    ended: Promise.race([untilSignal(), untilRetired()]),
  })
}

/** Opens a port for debuggers. As with `node --inspect`, each worker has its own port. */
async function openInspector(port: number): Promise<void> {
  const inspector = await import('node:inspector')
  const { id } = cluster.worker ?? { id: 0 }
  // Node logs a port that is taken, and goes on.
  if (inspector.url() === undefined) inspector.open(port + id, '127.0.0.1')
}

/** Milliseconds. Ctrl-C in `npm start` arrives twice at once: from the terminal, and from npm. */
const echoTime = 500

/** Resolves with the first SIGTERM or SIGINT. Later ones end the process at once, as they do by default. */
function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const onSignal = (signal: NodeJS.Signals) => {
      resolve(signal)
      setTimeout(ignore, echoTime).unref()
    }
    const ignore = () => process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  })
}

/** Resolves with the first uncaught exception. It and later ones are passed to `log` and no longer end the process. */
function untilCrash(log: (error: unknown, cause: string) => void): Promise<void> {
  return new Promise(resolve => {
    process.on('uncaughtException', (error, origin) => {
      log(error, origin === 'unhandledRejection' ? rejected : thrown)
      resolve()
    })
  })
}

const rejected = ': a promise was rejected, which nothing awaits or catches'

/** The callers of such functions are Node's own. */
const thrown = ': catch it in the function that has thrown, which is that of a timer, an event or a callback'

/** Says where the application has ended the process: the calls of `process.exit()` are in the stack of this event. */
function reportExit(directory: string): void {
  process.once('exit', () => {
    const frame = findOwnFrame(new Error('exit'), directory)
    const file = frame && locateFrame(frame, directory).file
    if (file === undefined) return
    const right =
      'throw an error instead, which the error page shows; at the end of the server, use close() of the bundle.'
    process.stderr.write(`process.exit() was called in ${file}:${frame?.line}: ${right}\n`)
  })
}

/** Logs a crash, with the request that the failed code worked for if the request context is enabled. */
function logCrash({ context, logger }: Application, exception: unknown, cause: string): void {
  const request = context.current
  if (request === undefined) {
    logger.critical('The process ends because of an uncaught exception{cause}.', { cause, exception })
  } else {
    const { method, url } = request
    const message = 'The process ends because of an uncaught exception in the work for {method} {url}{cause}.'
    logger.critical(message, { method, url, cause, exception })
  }
}

/** Reads templates and assets again. If one of them has a mistake, the version that was read before stays in use. */
function reload(kernel: Kernel, files: readonly string[]): readonly SourceProblem[] {
  try {
    kernel.reload(files)
    return []
  } catch (error) {
    print(error)
    process.stderr.write('What was read before stays in use: waiting for a change.\n')
    return toSourceProblems(error, kernel.app.directory)
  }
}

/** Prints the address of a server that has begun to listen, with warnings, and reports both to the supervisor. */
function announce(url: string, config: Config, { identity, ignoredHost, isRestarted, workers }: Options): void {
  const { environment } = config
  const isDebug = isDebugOn(config)
  // Outside of development stdout is for log lines in JSON.
  const stream = environment === 'dev' ? process.stdout : process.stderr
  const processes = workers === 0 ? '' : `, ${toAmount(workers, 'worker')}`
  const again = isRestarted ? ' again' : ''
  stream.write(`Sinfonietta serves ${url}${again} (${environment}, debug ${isDebug ? 'on' : 'off'}${processes})\n`)
  if (config.isDebug && !isDebug) stream.write('APP_DEBUG=1 has no effect here: debug output also needs APP_ENV=dev.\n')
  if (environment === 'prod' && config.hosts.length === 0) stream.write(hostsWarning)
  if (ignoredHost !== undefined && !isRestarted)
    stream.write(`The variable HOST is ${ignoredHost}, and is not read: the address to listen on is --host.\n`)
  if (environment === 'prod' && new Set(config.secret).size <= 8) stream.write(secretWarning)
  if (identity !== undefined) stream.write(describeValidity(identity))
  // From now on the supervisor restarts this process if it crashes.
  void report('listening')
  if (!isDebug || isRestarted) return
  stream.write(describeDebugAccess(url, config))
  // The supervisor starts the next main process with --restarted, so that the warning is printed once.
  void report('warned')
}

const hostsWarning =
  'Requests for any host are answered, because APP_HOSTS is not set. A client could choose the host of a redirect or a link.\n' +
  'Set APP_HOSTS to the names of the site, such as APP_HOSTS=example.org,*.example.org.\n'

/** 32 random characters, hexadecimal, have as few only once in 300,000 times. */
const secretWarning =
  'APP_SECRET consists of few different characters: it can be guessed, and with it each signature. Use a random one.\n'

/** A warning of a certificate that each client refuses today; else empty. */
export function describeValidity({ cert }: TlsIdentity, now: number = Date.now()): string {
  const { validFrom, validTo } = new X509Certificate(cert)
  if (Date.parse(validTo) < now)
    return `The certificate (--tls-cert) expired on ${validTo}: clients refuse it. Renew it.\n`
  if (Date.parse(validFrom) <= now) return ''
  return `The certificate (--tls-cert) is valid from ${validFrom} only: until then clients refuse it.\n`
}

/** Describes which clients of a server at a URL see debug output, and how to get access. */
export function describeDebugAccess(
  url: string,
  { debugKey }: Pick<Config, 'debugKey'>,
  hasUsers: boolean = knowsUsers,
): string {
  const clients = hasUsers ? 'programs of this user on this machine' : 'clients on this machine'
  if (debugKey !== undefined) {
    return `Debug output is for ${clients} that have the key. Open this once in your browser:\n${toLink(url, debugKey)}\n`
  }
  const others = hasUsers ? 'that run as this user' : 'on this machine'
  return (
    `Debug output is for ${clients}. Proxies, tunnels and port forwards ${others} look\n` +
    'like that, too: with one of them in front, set DEBUG_KEY.\n'
  )
}

/** Whether the system shows which user a connection belongs to. */
const knowsUsers = process.platform === 'linux' && existsSync('/proc/net/tcp')

/** Creates a link. An unspecified address is only for listening, so the link has the loopback address. */
function toLink(url: string, key: string): string {
  return `${url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')}/_debug?key=${key}`
}

/**
 * Keeps V8 from guessing which objects will live long. It takes objects that a request holds for some milliseconds for
 * long-lived ones and allocates the next ones in the old generation, where only a full collection frees them and the
 * pages that they refer to: a third of the cost of a page. The benchmarks call this function, too.
 */
export function tuneGarbageCollector(): void {
  v8.setFlagsFromString('--no-allocation-site-pretenuring')
}
