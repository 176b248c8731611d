import { Socket } from 'node:net'
import type { Foundation } from '../../kernel/bundle.ts'
import type { Queries } from '../../kernel/contracts/queries.ts'
import type { Request } from '../../lib/http/request.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { endAll } from '../../lib/share.ts'
import { type Caller, Callers } from '../../lib/stack/callers.ts'
import { toServer } from './library.ts'

/** A connection that a library opens for a request. */
interface Opening {
  readonly library: string
  readonly server: string
  readonly request: Request
  readonly caller: Caller | undefined
  /** By `performance.now()`. */
  readonly since: number
}

/**
 * Reports connections that fail before there is a query: each is one failed query `connect`, once for a request and a
 * server, because libraries try again. `systems` has the packages that open connections. The returned function ends it.
 */
export function watchRefusedConnections(
  {
    context,
    directory,
    queries,
  }: Pick<Foundation, 'context' | 'directory'> & { readonly queries: Pick<Queries, 'begin'> },
  systems: ReadonlyMap<string, string>,
): () => void {
  const callers = new Callers(directory)
  const openings = new WeakMap<object, Opening>()
  const reported = new WeakMap<Request, Set<string>>()
  return endAll([
    observeMethod(Socket.prototype, 'connect', (socket, args) => {
      const request = context.current
      const library = request && callers.findPackage(systems)
      if (request === undefined || library === undefined) return
      openings.set(Object(socket), {
        library,
        server: readServer(args),
        request,
        caller: callers.find(),
        since: readClock(),
      })
    }),
    observeMethod(Socket.prototype, 'destroy', (socket, [error]) => {
      const opening = openings.get(Object(socket))
      if (opening === undefined || !(error instanceof Error) || !isRefusal(error)) return
      const { caller, library, request, server, since } = opening
      const servers = reported.get(request) ?? new Set()
      if (servers.has(server)) return
      reported.set(request, servers.add(server))
      const end = queries.begin({
        system: systems.get(library) ?? library,
        text: 'connect',
        server,
        source: 'channel',
        library,
        request,
        findCaller: () => caller,
        elapsed: readClock() - since,
      })
      end?.({ error })
    }),
  ])
}

/** Whether a connection was not made. Node tries all addresses of a name: then an error has the others in a list. */
function isRefusal(error: Error & { readonly syscall?: unknown; readonly errors?: unknown }): boolean {
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo' || Array.isArray(error.errors)
}

/** The server of a call of `connect`: a port and a host, a path, an object of them, or a list that begins with it. */
function readServer(args: readonly unknown[]): string {
  const [first, second] = args.flat()
  const isText = typeof first === 'string' && Number.isNaN(Number(first))
  const given = typeof first === 'object' ? Object(first) : isText ? { path: first } : { port: first, host: second }
  const { host, path, port } = given as { readonly [name: string]: unknown }
  if (typeof path === 'string') return path
  return toServer(typeof host === 'string' ? host : 'localhost', Number(port))
}
