import { watch } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { bundles } from '../bundles/index.ts'
import { Kernel } from '../kernel/kernel.ts'
import { SERVER_PORT_TAKEN } from '../kernel/server/errors.ts'
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

/** What no change of a source file can mend: wrong options, a taken port. */
const usageError = 64

/** Compiled, this file lies in dist/bin. */
const directory = path.join(import.meta.dirname, '../..')

/** Serves the site with the options of a command line until SIGTERM or SIGINT; sets the exit code of the process. */
export async function serve(commandLine: readonly string[]): Promise<void> {
  try {
    const options = parseOptions(commandLine)
    if (options === 'help') process.stdout.write(help)
    else await start(options)
  } catch (error) {
    const isKnown = error instanceof HttpError || error instanceof UsageError
    process.stderr.write(`${isKnown ? error.message : String((error as Error).stack)}\n`)
    process.exitCode = error instanceof UsageError || error instanceof SERVER_PORT_TAKEN ? usageError : 1
  }
}

class UsageError extends Error {}

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
    throw new UsageError(`--port must be a number from 0 to 65535, not "${values.port}".`)
  }
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

async function start({ host, port, environment }: Options): Promise<void> {
  const { variables } = readDotenv(directory, process.env, environment)
  const config = parseConfig(variables)
  const redactor = new Redactor(variables)
  const format = config.environment === 'dev' ? 'readable' : 'json'
  const logger = createLogger({ level: config.logLevel, format, stream: process.stdout, redactor })

  const kernel = await Kernel.boot({ config, directory, bundles, logger, redactor })
  const trustedProxies = new TrustedProxies(config.trustedProxies)
  const server = new NodeServer({ ...kernel.app, trustedProxies })
  const url = await server.listen(host, port)
  announce(url, config)
  const stopWatching = config.environment === 'dev' ? watchTemplates(kernel) : () => undefined

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, async () => {
      stopWatching()
      await server.close()
      await kernel.close()
    })
  }
}

/** Takes up changed templates and assets without a restart; a mistake is logged, and the old ones stay in use. */
function watchTemplates({ app }: Kernel): () => void {
  const reload = () => {
    try {
      app.view.load()
      app.files.load()
    } catch (error) {
      app.logger.error('The templates cannot be reloaded: {reason}', { reason: (error as Error).message })
    }
  }
  let timer: NodeJS.Timeout | undefined
  const onChange = () => {
    clearTimeout(timer)
    // Editors write a file in several steps.
    timer = setTimeout(reload, 30)
  }
  const watchers = ['templates', 'bundles'].map(folder =>
    watch(path.join(directory, folder), { recursive: true }, onChange),
  )
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

function announce(url: string, { environment, isDebug }: Config): void {
  const debug = environment === 'dev' && isDebug
  process.stdout.write(`Sinfonietta serves ${url} (${environment}, debug ${debug ? 'on' : 'off'})\n`)
  if (!debug) return
  process.stdout.write(
    'Debug output is for clients on this machine. Put no proxy in front that rewrites Host and adds no header of its own:\n' +
      'whoever comes through it looks like a client on this machine.\n',
  )
}
