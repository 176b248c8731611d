import path from 'node:path'
import { inspect, parseArgs } from 'node:util'
import { loadBundles } from '../bundles/index.ts'
import type { Bundle } from '../kernel/bundle.ts'
import { isDebugOn } from '../kernel/debug-access.ts'
import { Kernel } from '../kernel/kernel.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN } from '../kernel/server/errors.ts'
import { NodeServer } from '../kernel/server/node-server.ts'
import { type Config, parseConfig } from '../lib/env/config.ts'
import { readDotenv } from '../lib/env/dotenv.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { TrustedProxies } from '../lib/http/trusted-proxies.ts'
import { createLogger } from '../lib/log/create-logger.ts'
import { Redactor } from '../lib/redact/redactor.ts'

const help = `Usage: bin/serve [options]

Serves the site.

  --port <number>   the port to listen on; 0 for any free one (default 8000)
  --host <address>  the address to listen on (default 127.0.0.1)
  --env <name>      dev, prod or test (default: APP_ENV, else dev)
  --help            shows this
`

/** The exit code for what no change of a file can mend: wrong options, a taken port. The supervisor knows it, too. */
const usageError = 64

/** Compiled, this file lies in dist/bin. */
const directory = path.join(import.meta.dirname, '../..')

/** Serves the site with the options of a command line until SIGTERM or SIGINT; sets the exit code of the process. */
export async function serve(commandLine: readonly string[], load: LoadBundles = loadBundles): Promise<void> {
  try {
    const options = parseOptions(commandLine)
    if (options === 'help') process.stdout.write(help)
    else await run(options, load)
  } catch (error) {
    print(error)
    process.exitCode = usageErrors.some(type => error instanceof type) ? usageError : 1
  }
}

/** Gives the bundles of the application. */
export type LoadBundles = (config: Config) => Promise<readonly Bundle[]>

class UsageError extends Error {}

const usageErrors = [UsageError, SERVER_PORT_TAKEN, SERVER_LISTEN_FAILED]

interface Options {
  readonly host: string
  readonly port: number
  readonly environment: string | undefined
}

function parseOptions(commandLine: readonly string[]): Options | 'help' {
  const { values } = readValues(commandLine)
  if (values.help) return 'help'
  const port = Number(values.port)
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new UsageError(`--port must be a number from 0 to 65535, not "${values.port}".\n\n${help}`)
  }
  // Node would listen on every address.
  if (values.host === '') throw new UsageError(`--host must not be empty.\n\n${help}`)
  return { host: values.host, port, environment: values.env }
}

function readValues(commandLine: readonly string[]) {
  try {
    return parseArgs({
      args: [...commandLine],
      options: {
        port: { type: 'string', default: '8000' },
        host: { type: 'string', default: '127.0.0.1' },
        env: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${help}`)
  }
}

/** What is foreseen has a message that says all; everything else is shown with its stack and its causes. */
function print(error: unknown): void {
  const isForeseen = error instanceof HttpError || error instanceof UsageError
  process.stderr.write(`${isForeseen ? error.message : inspect(error)}\n`)
}

async function run({ host, port, environment }: Options, load: LoadBundles): Promise<void> {
  const { variables, dotenvNames } = readDotenv(directory, process.env, environment)
  const config = parseConfig(variables, dotenvNames)
  const isDevelopment = config.environment === 'dev'
  const redactor = new Redactor(variables)
  const format = isDevelopment ? 'readable' : 'json'
  const logger = createLogger({ level: config.logLevel, format, stream: process.stdout, redactor })

  const bundles = await load(config)
  const kernel = await Kernel.boot({ config, directory, bundles, logger, redactor })
  const server = new NodeServer({ ...kernel.app, trustedProxies: new TrustedProxies(config.trustedProxies) })
  const url = await server.listen(host, port)
  const signalled = untilSignal()
  const reload = () => {
    try {
      kernel.reload()
    } catch (error) {
      print(error)
    }
  }
  if (isDevelopment) process.on('message', reload)
  announce(url, config)

  await signalled
  process.off('message', reload)
  // Who restarts the site with each change does not want to wait for a page that is left open.
  await server.close(isDevelopment ? 1_000 : 10_000)
  await kernel.close()
}

/** Without JSON lines on stdout, people read there; with them, on stderr. */
function announce(url: string, config: Config): void {
  const { environment } = config
  const debug = isDebugOn(config)
  const stream = environment === 'dev' ? process.stdout : process.stderr
  stream.write(`Sinfonietta serves ${url} (${environment}, debug ${debug ? 'on' : 'off'})\n`)
  if (!debug) return
  stream.write(
    'Debug output is for clients on this machine. Put no proxy in front that rewrites Host and adds no header of its own:\n' +
      'whoever comes through it looks like a client on this machine.\n',
  )
}

/** Milliseconds. Ctrl-C in `npm start` comes twice at once: from the terminal, and from npm. */
const echoTime = 500

/** Resolves with the first SIGTERM or SIGINT. Later ones end the process at once, as they do by default. */
function untilSignal(): Promise<void> {
  return new Promise(resolve => {
    const onSignal = () => {
      resolve()
      setTimeout(ignore, echoTime).unref()
    }
    const ignore = () => process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  })
}
