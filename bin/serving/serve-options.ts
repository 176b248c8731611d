import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { CommandUsageError } from '../../kernel/contracts/console-command.ts'
import type { TlsIdentity } from '../../kernel/server/http-server.ts'
import { parseWords } from '../../lib/console/command-line.ts'
import { findEnvironmentMistake } from '../../lib/env/dotenv.ts'
import { adviseOnReading } from '../../lib/folders.ts'
import type { SignalMap } from '../../lib/signals.ts'

/** The text of `--help`. */
export const help = `Usage: bin/serve [options]
       node app.ts [options]

Serves the application.

  --port <number>    the port to listen on; 0 for any free port (default: the variable PORT, else 8000)
  --host <address>   the address to listen on (default 127.0.0.1)
  --env <name>       dev, prod or test (default: APP_ENV, else dev; prod with NODE_ENV=production)
  --workers <number> serves with several worker processes and replaces each one that ends (default: no workers)
  --tls-cert <file>  serves HTTPS with this certificate (PEM); needs --tls-key
  --tls-key <file>   the private key of the certificate (PEM)
  --inspect <number> lets a debugger attach on this port of 127.0.0.1 (default 9229; worker 1 has the next port)
  --help             shows this help, as -h does
`

/** The parsed options of a command line. */
export interface Options {
  readonly host: string
  /** The address in the variable `HOST`, if the server listens on another one by default. */
  readonly ignoredHost: string | undefined
  readonly port: number
  readonly environment: string | undefined
  /** 0: the main process answers requests itself. */
  readonly workers: number
  readonly identity: TlsIdentity | undefined
  /** The port of 127.0.0.1 for a debugger. */
  readonly inspectPort: number | undefined
  /**
   * The file descriptor of the socket that is shared with other processes. The supervisor sets
   * this; it is not in the help.
   */
  readonly socket: number | undefined
  /** Whether an earlier main process has printed the warnings. The supervisor sets this; it is not in the help. */
  readonly isRestarted: boolean
  /** The latest edits of files, the oldest first. The supervisor sets this; it is not in the help. */
  readonly edits: SignalMap['process.restarted']['edits']
}

/** A mistake in the command line; the message names it and shows the help. */
export class UsageError extends CommandUsageError {
  constructor(problem: string, cause?: unknown) {
    super(`${problem}\n\n${help}`, { cause })
  }
}

const workerLimit = 128

/** Parses a command line. Without `--port`, the port is that of the environment. @throws UsageError */
export function parseOptions(
  commandLine: readonly string[],
  { HOST = '', PORT }: { readonly HOST?: string | undefined; readonly PORT?: string | undefined } = process.env,
): Options | 'help' {
  const { values } = readValues(commandLine)
  if (values.help) return 'help'
  const mistake = findEnvironmentMistake(values.env)
  if (mistake !== undefined) throw new UsageError(mistake)
  const { host = '127.0.0.1' } = values
  if (/[/\s*,[\]]|^[^:]*:\d*$/.test(host)) {
    throw new UsageError(`--host is one address such as 0.0.0.0 or ::, without a port, not "${host}".`)
  }
  return {
    host,
    ignoredHost: values.host === undefined && isIP(HOST) > 0 && HOST !== host ? HOST : undefined,
    port:
      values.port === undefined
        ? parseCount('The variable PORT', PORT || '8000', 65_535)
        : parseCount('--port', values.port, 65_535),
    environment: values.env,
    workers: parseCount('--workers', values.workers, workerLimit),
    identity: readIdentity(values['tls-cert'], values['tls-key']),
    inspectPort: values.inspect === undefined ? undefined : parseCount('--inspect', values.inspect, 65_535),
    socket: values.socket === undefined ? undefined : parseCount('--socket', values.socket, 65_535),
    isRestarted: values.restarted,
    edits: parseEdits(values.edits),
  }
}

function readValues(commandLine: readonly string[]) {
  try {
    return parseWords(commandLine, {
      help,
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        env: { type: 'string' },
        workers: { type: 'string', default: '0' },
        'tls-cert': { type: 'string' },
        'tls-key': { type: 'string' },
        inspect: { type: 'string', alone: '9229' },
        socket: { type: 'string' },
        restarted: { type: 'boolean', default: false },
        edits: { type: 'string', default: '[]' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    const { message } = error as Error
    const right = message.includes('--watch') ? ' In development a new process takes over at each save.' : ''
    throw new UsageError(message + right, error)
  }
}

function parseEdits(text: string): Options['edits'] {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError('--edits must be JSON.', error)
  }
}

function parseCount(option: string, text: string, limit: number): number {
  if (/^\d+$/.test(text) && Number(text) <= limit) return Number(text)
  throw new UsageError(`${option} must be a number from 0 to ${limit}, not "${text}".`)
}

function readIdentity(cert: string | undefined, key: string | undefined): TlsIdentity | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) throw new UsageError('--tls-cert and --tls-key go together.')
  return { cert: readPem('--tls-cert', cert), key: readPem('--tls-key', key) }
}

function readPem(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`${option} cannot be read: ${message}${adviseOnReading(code)}.`, error)
  }
}
