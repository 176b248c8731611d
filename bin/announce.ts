import { existsSync } from 'node:fs'
import { isDebugOn } from '../kernel/debug-gate.ts'
import type { Config } from '../lib/env/config.ts'
import type { Options } from './serve-options.ts'

/** Prints the address of a server that has begun to listen, with warnings, and reports both to the supervisor. */
export function announce(url: string, config: Config, { isRestarted, workers }: Options): void {
  const { environment } = config
  const isDebug = isDebugOn(config)
  // Outside of development stdout is for log lines in JSON.
  const stream = environment === 'dev' ? process.stdout : process.stderr
  const processes = workers === 0 ? '' : `, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  const again = isRestarted ? ' again' : ''
  stream.write(`Sinfonietta serves ${url}${again} (${environment}, debug ${isDebug ? 'on' : 'off'}${processes})\n`)
  if (environment === 'prod' && config.hosts.length === 0) stream.write(hostsWarning)
  // From now on the supervisor restarts this process if it crashes.
  process.send?.('listening')
  if (!isDebug || isRestarted) return
  stream.write(describeDebugAccess(url, config))
  // The supervisor starts the next main process with --restarted, so that the warning is printed once.
  process.send?.('warned')
}

const hostsWarning =
  'Requests for any host are answered, because APP_HOSTS is not set. A client could choose the host of a redirect or a link.\n' +
  'Set APP_HOSTS to the names of the site, such as APP_HOSTS=example.org,*.example.org.\n'

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
