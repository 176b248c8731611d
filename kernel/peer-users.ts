import { readFile } from 'node:fs/promises'
import type { Connection } from '../lib/http/request.ts'

/**
 * The id of the user that holds the other end of a connection. `nobody`: this machine has no such socket, or has it no
 * more. `unknown`: the system does not say.
 */
export type PeerUser = number | 'nobody' | 'unknown'

/** The sockets of one address family, in the format of `/proc/net/tcp` (proc_net_tcp in the kernel's documentation). */
export type SocketTable = 'tcp' | 'tcp6'

/** Reads a table of sockets; rejects where the system has none. */
export type ReadSocketTable = (table: SocketTable) => Promise<Buffer>

/**
 * Asks Linux which user holds the other end of a loopback connection. The kernel walks its whole hash of sockets for a
 * table, which takes milliseconds: a table is read off the main thread, and one reading serves all connections that wait.
 */
export class PeerUsers {
  readonly #tables: Readonly<Record<SocketTable, () => Promise<Buffer>>>

  constructor(readTable: ReadSocketTable = readSocketTable) {
    this.#tables = { tcp: joinReaders(() => readTable('tcp')), tcp6: joinReaders(() => readTable('tcp6')) }
  }

  /** Finds the user at the other end. Never rejects. */
  async find({ localAddress, localPort, remoteAddress, remotePort }: Connection): Promise<PeerUser> {
    const ends: End[] = [
      [remoteAddress, remotePort],
      [localAddress, localPort],
    ]
    let user: PeerUser | undefined
    // A client of IPv4 may have a socket of IPv6: Java does.
    for (const [table, toHex] of families) {
      const hexes = ends.map(([address = '', port = 0]) => toEnd(toHex(address), port))
      if (hexes.includes(undefined)) continue
      try {
        user = findUser(await this.#tables[table](), hexes.join(' '))
      } catch (error) {
        // Anything else, such as too many open files, a client could bring about.
        if (!isAbsent(error)) return 'nobody'
        user ??= 'unknown'
      }
      if (typeof user === 'number') return user
    }
    return user ?? 'nobody'
  }
}

type End = readonly [address: string | undefined, port: number | undefined]

/** What reading fails with where there is no such table: other systems, sandboxes, Linux without IPv6. */
function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))
}

function readSocketTable(table: SocketTable): Promise<Buffer> {
  return readFile(`/proc/net/${table}`)
}

/**
 * Lets all that ask while one reading is under way share the next one: the present one may have passed their rows, or
 * have begun before their connections.
 */
function joinReaders(read: () => Promise<Buffer>): () => Promise<Buffer> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<Buffer> | undefined
  return () => {
    next ??= current.then(() => {
      next = undefined
      const reading = read()
      current = reading.catch(() => undefined)
      return reading
    })
    return next
  }
}

/** The columns after both addresses: state, queues, timer, retransmissions, user, timeout, inode. */
const userColumn = 4
const inodeColumn = 6

/** A row without an inode (closed by its process, or waiting for late packets) has no user: it says 0, which is root's. */
function findUser(rows: Buffer, ends: string): PeerUser {
  for (let at = rows.indexOf(ends); at !== -1; at = rows.indexOf(ends, at + ends.length)) {
    const end = rows.indexOf('\n', at)
    const columns = rows
      .toString('latin1', at + ends.length, end)
      .trim()
      .split(/ +/)
    if (Number(columns[inodeColumn]) > 0) return Number(columns[userColumn])
  }
  return 'nobody'
}

function toEnd(address: string | undefined, port: number): string | undefined {
  return address && `${address}:${port.toString(16).toUpperCase().padStart(4, '0')}`
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
