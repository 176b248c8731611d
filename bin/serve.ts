import cluster from 'node:cluster'
import path from 'node:path'
import { loadBundles } from '../bundles/index.ts'
import type { Application, Bundle } from '../kernel/bundle.ts'
import { isDebugOn } from '../kernel/debug-gate.ts'
import { Kernel } from '../kernel/kernel.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN, SERVER_TLS_INVALID } from '../kernel/server/errors.ts'
import { type ClosingTimes, idleTime } from '../kernel/server/http-server.ts'
import { NodeServer } from '../kernel/server/node-server.ts'
import { type Config, parseConfig, warnOfUnknownSettings } from '../lib/env/config.ts'
import { readDotenv } from '../lib/env/dotenv.ts'
import { TrustedProxies } from '../lib/http/trusted-proxies.ts'
import { createLogger } from '../lib/log/create-logger.ts'
import { Redactor } from '../lib/redact/redactor.ts'
import { describeDebugAccess } from './debug-notice.ts'
import { describeFailure } from './describe-failure.ts'
import { help, type Options, parseOptions, UsageError } from './options.ts'
import { untilCrash, untilSignal } from './signals.ts'
import { leavePrimary, superviseWorkers, untilRetired } from './workers.ts'

/** The exit code for what no change of a file can mend: wrong options, a taken port. The supervisor knows it, too. */
const usageError = 64

/** Compiled, this file lies in dist/bin. */
const directory = path.join(import.meta.dirname, '../..')

/** Milliseconds: what is under way has so long to end, and idle connections so long for one more request. */
const patience = { deadline: 10_000, linger: 500 }
/** Where another worker serves already, nobody waits: each idle connection has the time that its client was told. */
const retirement = { deadline: 30_000, linger: idleTime }
/** Who restarts the site with each change does not want to wait for a page that is left open. */
const impatience = { deadline: 1_000, linger: 0 }

/** Serves the site with the options of a command line until SIGTERM or SIGINT; sets the exit code of the process. */
export async function serve(commandLine: readonly string[], load: LoadBundles = loadBundles): Promise<void> {
  try {
    const options = parseOptions(commandLine)
    if (options === 'help') process.stdout.write(help)
    else process.exitCode = await run(options, commandLine, load)
  } catch (error) {
    print(error)
    process.exitCode = usageErrors.some(type => error instanceof type) ? usageError : 1
  }
}

/** Gives the bundles of the application. */
export type LoadBundles = (config: Config) => Promise<readonly Bundle[]>

const usageErrors = [UsageError, SERVER_PORT_TAKEN, SERVER_LISTEN_FAILED, SERVER_TLS_INVALID]

function print(error: unknown): void {
  process.stderr.write(`${describeFailure(error)}\n`)
}

function printKept(error: unknown): void {
  print(error)
  process.stderr.write('What was read before stays in use: waiting for a change.\n')
}

async function run(options: Options, commandLine: readonly string[], load: LoadBundles): Promise<number> {
  const { variables, dotenvNames } = readDotenv(directory, process.env, options.environment)
  const config = parseConfig(variables, dotenvNames)
  if (options.workers > 0 && cluster.isPrimary) return supervise(options, commandLine, config)
  if (options.inspectPort !== undefined) await openInspector(options.inspectPort)

  const isDevelopment = config.environment === 'dev'
  const redactor = new Redactor(variables)
  const format = isDevelopment ? 'readable' : 'json'
  const logger = createLogger({ level: config.logLevel, format, stream: process.stdout, redactor })
  const isFirst = cluster.isPrimary || cluster.worker?.id === 1
  if (isFirst && !options.isRestarted) warnOfUnknownSettings(config.dotenvNames, logger)

  const bundles = await load(config)
  const kernel = await Kernel.boot({ config, directory, bundles, logger, redactor })
  const { app } = kernel
  const trustedProxies = new TrustedProxies(config.trustedProxies, config.trustedHeaders)
  const server = new NodeServer({ ...app, trustedProxies, ...(options.identity && { identity: options.identity }) })
  const url = await server.listen(options.host, options.port)
  const close = (times: ClosingTimes) => server.close(isDevelopment ? impatience : times)
  // One that retires may be told to stop, and then has less time.
  const ended = Promise.race([
    untilSignal().then(() => close(patience).then(() => 0)),
    untilRetired().then(() => close(retirement).then(() => 0)),
    untilCrash(error => logCrash(app, error)).then(() => close(patience).then(() => 1)),
  ])
  // When there is a mistake in what has changed, the old stays in use.
  const reload = (message: unknown) => void (async () => message === 'reload' && kernel.reload())().catch(printKept)
  if (isDevelopment) process.on('message', reload)
  if (cluster.isPrimary) announce(url, config, options)

  const code = await ended
  process.off('message', reload)
  await kernel.close()
  await leavePrimary()
  return code
}

/** As with `node --inspect`, each worker has a port of its own. */
async function openInspector(port: number): Promise<void> {
  const inspector = await import('node:inspector')
  const { id } = cluster.worker ?? { id: 0 }
  // Node logs a port that is taken, and goes on.
  if (inspector.url() === undefined) inspector.open(port + id, '127.0.0.1')
}

/** Names the request whose work has failed, where requests are followed. */
function logCrash({ context, logger }: Application, error: unknown): void {
  const request = context.current
  if (request === undefined) logger.critical('The process ends: nobody has caught this.', { exception: error })
  else {
    const { method, url } = request
    const message = 'The work for {method} {url} ends the process: nobody has caught this.'
    logger.critical(message, { method, url, exception: error })
  }
}

/** Serves with several processes that do the same. */
async function supervise(options: Options, commandLine: readonly string[], config: Config): Promise<number> {
  const { host, identity, workers } = options
  const scheme = identity === undefined ? 'http' : 'https'
  return superviseWorkers({
    count: workers,
    exec: path.join(directory, 'bin/start.js'),
    commandLine,
    hopeless: usageError,
    tell: message => process.stderr.write(`${message}\n`),
    onReady: ({ port }) => announce(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, config, options),
  })
}

const hostsWarning =
  'Any host is answered: APP_HOSTS is not set. A redirect or a link may lead to a host that a client has made up.\n' +
  'Set APP_HOSTS to the names of the site, such as APP_HOSTS=example.org,*.example.org.\n'

/** Without JSON lines on stdout, people read there; with them, on stderr. */
function announce(url: string, config: Config, { isRestarted, workers }: Options): void {
  const { environment } = config
  const debug = isDebugOn(config)
  const stream = environment === 'dev' ? process.stdout : process.stderr
  const processes = workers === 0 ? '' : `, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  const again = isRestarted ? ' again' : ''
  stream.write(`Sinfonietta serves ${url}${again} (${environment}, debug ${debug ? 'on' : 'off'}${processes})\n`)
  if (environment === 'prod' && config.hosts.length === 0) stream.write(hostsWarning)
  // Its supervisor restarts a site that crashes from now on.
  process.send?.('listening')
  if (!debug || isRestarted) return
  stream.write(describeDebugAccess(url, config))
  // Its supervisor need not have it said again.
  process.send?.('warned')
}
