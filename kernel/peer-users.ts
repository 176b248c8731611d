import { closeSync, openSync, readSync } from 'node:fs'
import type { Connection } from '../lib/http/request.ts'

/**
 * The id of the user that holds the other end of a connection. `none`: this machine does not have such a socket, or no
 * longer. `unknown`: the system does not give this information.
 */
export type PeerUser = number | 'none' | 'unknown'

/** The sockets of one address family, in the format of `/proc/net/tcp` (proc_net_tcp in the kernel's documentation). */
export type SocketTable = 'tcp' | 'tcp6'

/** Reads a table of sockets in parts, until a part is enough. Throws if the system has no such table. */
export type ReadSockets = (table: SocketTable, isEnough: (part: string) => boolean) => void

/**
 * Asks Linux which user holds the other end of a loopback connection. For a table the kernel walks its whole hash of
 * sockets, which takes some milliseconds: once for each connection is enough.
 */
export class PeerUsers {
  readonly #read: ReadSockets

  constructor(read: ReadSockets = readSockets) {
    this.#read = read
  }

  /** Finds the user at the other end. Never throws. */
  find({ localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 }: Connection): PeerUser {
    let user: PeerUser | undefined
    // A client of IPv4 may have a socket of IPv6: Java does.
    for (const [table, toHex] of families) {
      const [peer, own] = [toHex(remoteAddress), toHex(localAddress)]
      if (peer === undefined || own === undefined) continue
      try {
        const search = new RowSearch(`${peer}:${toPort(remotePort)} ${own}:${toPort(localPort)} `)
        this.#read(table, part => search.isFoundIn(part))
        user = search.user
      } catch (error) {
        // A client could cause other errors, such as too many open files.
        if (!isAbsent(error)) return 'none'
        user ??= 'unknown'
      }
      if (typeof user === 'number') return user
    }
    return user ?? 'none'
  }
}

/** Whether the table does not exist: on other systems, in sandboxes, on Linux without IPv6. */
function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
}

/** Six or seven rows: Linux reads only as many sockets as the next part needs. */
const part = Buffer.allocUnsafe(1024)

function readSockets(table: SocketTable, isEnough: (part: string) => boolean): void {
  const file = openSync(`/proc/net/${table}`, 'r')
  try {
    let length: number
    do {
      length = readSync(file, part)
    } while (length > 0 && !isEnough(part.toString('latin1', 0, length)))
  } finally {
    closeSync(file)
  }
}

/** The columns after both addresses: state, queues, timer, retransmissions, user, timeout, inode. */
const userColumn = 4
const inodeColumn = 6

/**
 * Looks for the socket with these ends. A row without an inode (closed by its process, or waiting for late packets) has no
 * user: it says 0, which is root's.
 */
class RowSearch {
  user: PeerUser = 'none'
  readonly #ends: string
  /** The beginning of a row whose end is in the next part. */
  #rest = ''

  constructor(ends: string) {
    this.#ends = ends
  }

  isFoundIn(part: string): boolean {
    const ends = this.#ends
    const rows = this.#rest + part
    const end = rows.lastIndexOf('\n')
    for (let at = rows.indexOf(ends); at !== -1 && at < end; at = rows.indexOf(ends, at + ends.length)) {
      const columns = rows.slice(at + ends.length, rows.indexOf('\n', at)).split(/ +/)
      if (Number(columns[inodeColumn]) > 0) {
        this.user = Number(columns[userColumn])
        return true
      }
    }
    this.#rest = rows.slice(end + 1)
    return false
  }
}

function toPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/** `127.0.0.1`, also as `::ffff:127.0.0.1`. */
function toHex4(address: string): string | undefined {
  const parts = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1)
  return parts && toWords(parts.map(Number))
}

/** `::1`, or an address of IPv4 as one of IPv6; a loopback connection has no other. */
function toHex6(address: string): string | undefined {
  const mapped = toHex4(address)
  if (mapped !== undefined) return `${toWords([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])}${mapped}`
  return address === '::1' ? toWords([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]) : undefined
}

/** The kernel prints addresses as words of 32 bits, in the byte order of the machine. */
function toWords(bytes: readonly number[]): string {
  const words = new Uint32Array(Uint8Array.from(bytes).buffer)
  return Array.from(words, word => word.toString(16).toUpperCase().padStart(8, '0')).join('')
}

/** How the ends of a connection stand in each table. */
const families = [
  ['tcp', toHex4],
  ['tcp6', toHex6],
] as const
