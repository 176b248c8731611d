import { type ChildProcess, fork, type Serializable, type StdioOptions } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import path from 'node:path'
import type { SourceProblem } from '../../kernel/bundle.ts'

/**
 * A message of the supervisor to a main process, which passes it on to its workers: the mistakes of
 * the sources, and whether the process runs the current ones; templates and assets to read again;
 * and `retire`: other processes serve, so this one ends after its requests. A main process replaces
 * a worker by `retire`, too. For a process that waits, `options` are the further options of its
 * command line: it loads the application. `go` is the answer to `ready`: the process listens.
 */
export type ToMainProcess =
  | { readonly options: readonly string[] }
  | { readonly broken: readonly SourceProblem[]; readonly isCurrent?: boolean }
  | { readonly reload: readonly string[] }
  | 'go'
  | 'retire'

/**
 * A message of a main process to its supervisor: a port, or the path of a socket, on which its servers
 * listen, or that is taken; the reasons why it does not start, or ends; `ready` when it could listen in
 * the place of another process, and waits for `go`; `listening` when it serves; `warned` when it has
 * printed the texts that are printed once; and `retired` when it takes no more requests after `retire`.
 */
export type FromMainProcess =
  | { readonly listensOn: number | string }
  | { readonly taken: number | string }
  | { readonly problems: readonly SourceProblem[] }
  | 'ready'
  | 'listening'
  | 'warned'
  | 'retired'

/** The first message of the supervisor to the process of the holding page, which answers with `listening`. */
export interface ToHoldingProcess {
  readonly problems: readonly SourceProblem[]
}

/** A process that takes messages: a worker, or another one. */
interface Receiver {
  send(message: Serializable, callback: (error: Error | null) => void): boolean
}

/** Sends a message to a process. A process that is just ending does not need it. */
export function sendTo(child: Receiver, message: ToMainProcess | ToHoldingProcess): void {
  child.send(message, () => undefined)
}

/** Sends a message to the supervisor, if there is one. Resolves when it is sent. */
export async function report(message: FromMainProcess): Promise<void> {
  if (process.send === undefined) return
  await new Promise(resolve => process.send?.(message, resolve))
}

/** A socket that processes inherit by its file descriptor. */
interface SharedSocket {
  readonly fd: number
  /** Closes the file descriptor of this process. The socket takes connections as long as another process has it. */
  close(): void
}

/** A handle of Node's own: `node:cluster` shares sockets by the same function. The types of Node do not have it. */
interface Handle extends SharedSocket {
  getsockname(name: { port?: number }): number
}

/**
 * Binds a socket that several processes share, one after another: each inherits its file descriptor,
 * and listens on it. A client that connects while none of them runs waits in the queue of the system.
 * Resolves with `undefined` if the address cannot be bound, or if the system or this version of Node
 * cannot share a socket: then the process that serves listens by itself, and reports the mistake.
 */
export async function bindSharedSocket(host: string, port: number): Promise<SharedSocket | undefined> {
  const create = (net as { _createServerHandle?(...address: unknown[]): Handle | number })._createServerHandle
  if (create === undefined || process.platform === 'win32') return undefined
  const found = await lookup(host).catch(() => undefined)
  if (found === undefined) return undefined
  const handle = create(found.address, port, found.family)
  if (typeof handle === 'number') return undefined
  // An address that is taken is only reported when the socket listens, which another process does.
  const bound: { port?: number } = {}
  if (handle.getsockname(bound) === 0 && bound.port !== 0 && (port === 0 || bound.port === port)) return handle
  handle.close()
  return undefined
}

/** The file descriptor of the shared socket in a process that is started with it. */
const inherited = 3

/**
 * Starts a program of this folder, with the option `--socket` if it inherits a socket. By default
 * it has the options of this Node.
 */
export function forkWithSocket(
  program: string,
  parameters: readonly string[],
  socket: number | undefined,
  execArgv: readonly string[] = process.execArgv,
): ChildProcess {
  const stdio: StdioOptions = ['inherit', 'inherit', 'inherit', ...(socket === undefined ? [] : [socket]), 'ipc']
  const options = socket === undefined ? [] : [`--socket=${inherited}`]
  return fork(path.join(import.meta.dirname, program), [...parameters, ...options], { stdio, execArgv: [...execArgv] })
}
