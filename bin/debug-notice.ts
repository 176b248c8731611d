import { existsSync } from 'node:fs'
import type { Config } from '../lib/env/config.ts'

/** Says to whom a server at a URL shows debug output, and what is needed for that. */
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

/** Where the system says to which user a connection belongs. */
const knowsUsers = process.platform === 'linux' && existsSync('/proc/net/tcp')

/** Unspecified addresses are for listening only. */
function toLink(url: string, key: string): string {
  return `${url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')}/_debug?key=${key}`
}
