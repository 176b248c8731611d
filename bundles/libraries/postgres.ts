import { channel, tracingChannel } from 'node:diagnostics_channel'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { countRows } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { type Caller, createCallerSearch } from '../../lib/stack/callers.ts'
import { type Library, listenToOperations, type OperationOutcome, type WatchServices } from './library.ts'

/** Queries of postgres.js, which is a package of ES modules and of CommonJS. */
export const postgres: Library = {
  name: 'postgres',
  reports: 'queries',
  seenBy: 'patch',
  notSeen: 'with `fetch_types: false`, the server and the database; the wait behind others on a busy connection',
  bundledText: 'Query not called as a tagged template literal',
  opens: { postgres: openPostgres },
  watch: watchPostgres,
}

/** A query of postgres.js. It runs when it is awaited for the first time. */
interface PostgresQuery {
  /** The parts of a template, or the text alone. */
  strings: readonly string[]
  /** The values between them. */
  args: readonly unknown[]
  /** The same object for all queries of a connection, once it is sent. */
  readonly state: object | null
  /** Runs it. */
  readonly handler: { readonly name: string }
  /** The statement, once it is sent, and its values. */
  readonly string?: string
  readonly parameters?: readonly unknown[]
  readonly executed: boolean
}

/** The options of a client of postgres.js. */
interface PostgresOptions {
  readonly database?: string
  /** Of each server. */
  readonly host?: readonly string[]
  readonly port?: readonly number[]
  /** The path of a socket. */
  readonly path?: unknown
}

/** The place of the server of a connection. */
interface PostgresPlace {
  readonly database: string | undefined
  readonly server: string | undefined
}

const postgresCreations = channel('sinfonietta:postgres:create')
const postgresQueries = tracingChannel<object, OperationOutcome & { readonly query: PostgresQuery }>(
  'sinfonietta:postgres:query',
)

/** The classes of its queries and their parts are in files of their own: one for ES modules, and one for CommonJS. */
async function openPostgres(folder: string): Promise<void> {
  for (const sources of ['src', 'cjs/src']) {
    const load = async (file: string, name: string) => {
      const url = pathToFileURL(path.join(folder, sources, file)).href
      const { default: commonJs, ...exports } = await import(url).catch(() => ({}))
      return exports[name] ?? commonJs?.[name]
    }
    const Query = await load('query.js', 'Query')
    const Builder = await load('types.js', 'Builder')
    if (typeof Query?.prototype.handle === 'function') changePostgresQuery(Query, Object(Builder).prototype)
  }
}

/** The places of the connections, by the states of their queries. */
const places = new WeakMap<object, PostgresPlace>()

/** The place of the server that a query was sent to; `undefined` if it is not known. */
function postgresPlaceOf({ state }: PostgresQuery): PostgresPlace | undefined {
  return state === null ? undefined : places.get(state)
}

/**
 * The options of a client are passed to the parts of a statement only. So the question for the
 * types of a database, which the library asks first on each connection, gets another part, which
 * is empty. The returned function takes it out again.
 */
function askForPlace(query: PostgresQuery, builder: object): () => void {
  const { args, strings } = query
  query.strings = [...strings, '']
  query.args = [
    Object.create(builder, {
      build: {
        value(_before: string, _parameters: unknown, _types: unknown, options: PostgresOptions) {
          if (query.state !== null) places.set(query.state, toPlace(options))
          query.args = args
          return ''
        },
      },
    }),
  ]
  return () => {
    query.strings = strings
  }
}

function toPlace({ database, host = [], path: socket, port = [] }: PostgresOptions): PostgresPlace {
  const address = host.length === 1 ? `${host[0]}:${port[0]}` : undefined
  return { database, server: typeof socket === 'string' ? socket : address }
}

function changePostgresQuery(Query: { readonly prototype: PostgresQuery }, builder: object | undefined): void {
  const { prototype } = Query
  // The place in the code is known only while a query is created: `await` calls `then` without the code on the stack.
  class Created<Value> extends Promise<Value> {
    constructor(
      executor: (resolve: (value: Value | PromiseLike<Value>) => void, reject: (error: unknown) => void) => void,
    ) {
      super(executor)
      if (postgresCreations.hasSubscribers) postgresCreations.publish(this)
    }
  }
  Object.setPrototypeOf(Query, Created)
  observeMethod(prototype, 'handle', self => {
    const query = self as PostgresQuery
    if (query.executed || !postgresQueries.start.hasSubscribers) return
    const isOwn = query.handler.name === 'execute' && query.strings.length === 1 && query.args.length === 0
    const canBuild = typeof Object(builder).build === 'function'
    publishPostgresQuery(query, isOwn && builder !== undefined && canBuild ? askForPlace(query, builder) : undefined)
  })
}

/** A query is sent when it has its statement. One that is never sent begins when it fails. */
function publishPostgresQuery(query: PostgresQuery, restore?: () => void): void {
  const message: OperationOutcome & { readonly query: PostgresQuery } = { query }
  let isBegun = false
  let isEnded = false
  const begin = () => {
    if (isBegun) return
    isBegun = true
    restore?.()
    postgresQueries.start.publish(message)
  }
  const end = (outcome: OperationOutcome) => {
    if (isEnded) return
    isEnded = true
    begin()
    Object.assign(message, outcome)
    postgresQueries.asyncStart.publish(message)
  }
  watchProperty(query, 'statement', statement => {
    if (statement !== null) begin()
    return statement
  })
  const watchEnd = (name: string, toOutcome: (argument: unknown) => OperationOutcome) =>
    watchProperty(query, name, method =>
      observeCalls(method as AnyFunction, (_, [argument]) => void end(toOutcome(argument))),
    )
  watchEnd('resolve', result => ({ result }))
  watchEnd('reject', error => ({ error }))
}

/** Passes each value of a property through a function, also a later one: a cursor replaces the methods of its query. */
function watchProperty(target: object, name: string, pass: (value: unknown) => unknown): void {
  let value = pass(Reflect.get(target, name))
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get: () => value,
    set(next: unknown) {
      value = pass(next)
    },
  })
}

/**
 * Records queries of postgres.js until the returned function is called. A query
 * belongs to the request that has created it; the library's own question for the types of a database belongs to none.
 */
function watchPostgres({ callers, context, queries }: WatchServices): () => void {
  const creations = new WeakMap<object, { readonly request: Request; readonly caller: Caller | undefined }>()
  const search = createCallerSearch(callers, 'sinfonietta:postgres:create')
  return subscribeChannels({
    'sinfonietta:postgres:create': listenTo<object>(query => {
      const { current: request } = context
      if (request !== undefined) creations.set(query, { request, caller: search() })
    }),
    ...listenToOperations<{ readonly query: PostgresQuery }>(
      'sinfonietta:postgres:query',
      ({ query }) => {
        const creation = creations.get(query)
        // A connection runs its own questions itself.
        if (creation === undefined || query.handler.name === 'execute') return undefined
        const { caller, request } = creation
        const { database: namespace, server } = postgresPlaceOf(query) ?? {}
        return queries.begin({
          system: 'postgresql',
          text: query.string ?? query.strings.join('?'),
          parameters: query.parameters,
          namespace,
          server,
          source: 'channel',
          library: 'postgres',
          request,
          findCaller: () => caller,
        })
      },
      result => Object(result).count ?? countRows(result),
    ),
  })
}
