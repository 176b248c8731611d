import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** The libraries that get diagnostics channels here. */
type SilentLibrary = 'pg' | 'postgres'

/**
 * Lets pg and postgres.js publish their queries on diagnostics channels, which they do not do by themselves: their classes are
 * changed when they are loaded, so it must be called before the application is imported. Their exports stay the same objects.
 * Nothing happens without the library in a folder `node_modules` of the directory or above it, and for a library that is
 * `excluded`, because something else reports its queries.
 */
export async function openLibraryChannels(
  directory: string,
  isExcluded: (library: SilentLibrary) => boolean = () => false,
): Promise<void> {
  const libraries = Object.entries(openers) as [SilentLibrary, (folder: string) => Promise<void>][]
  for (const [library, open] of libraries) {
    const folder = findPackage(directory, library)
    if (folder === undefined || opened.has(folder) || isExcluded(library)) continue
    opened.add(folder)
    await open(folder)
  }
}

/** The folders of the packages that have their channels. */
const opened = new Set<string>()

const openers: Readonly<Record<SilentLibrary, (folder: string) => Promise<void>>> = {
  pg: openPg,
  postgres: openPostgres,
}

function findPackage(directory: string, name: string): string | undefined {
  const folders = createRequire(path.join(directory, 'package.json')).resolve.paths(name) ?? []
  return folders.map(folder => path.join(folder, name)).find(folder => existsSync(path.join(folder, 'package.json')))
}

/** A message of the channels of pg. */
export interface PgQuery {
  readonly query: string
  readonly values: readonly unknown[] | undefined
  readonly database: string
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

/** A message of a tracing channel, with the result of its operation. */
interface Outcome {
  result?: unknown
  error?: unknown
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown

const pgQueries = tracingChannel<object, Outcome>('sinfonietta:pg:query')
const pgWaits = tracingChannel<object, Outcome>('sinfonietta:pg:pool:connect')
const pgConnects = channel('tracing:sinfonietta:pg:connect:start')
/** Other callbacks of a query, which run for its request: those of a cursor. */
const pgCallbacks = tracingChannel<object, Outcome>('sinfonietta:pg:callback')

/** A client of pg, as far as it is used. */
interface PgClient {
  readonly database?: string | null
  readonly host?: string
  readonly port: number
  connect: AnyFunction
  query: AnyFunction
}

/** An object that a client sends itself: a query, a cursor or a stream. The client calls its methods. */
interface Submittable {
  submit?: unknown
  readonly text?: string
  readonly values?: readonly unknown[]
  readonly callback?: unknown
  readonly name?: string
  readonly cursor?: Submittable
  readonly _result?: unknown
  [method: string]: unknown
}

/** pg is CommonJS also for ES modules, which import its files through `require`. */
async function openPg(): Promise<void> {
  if (isPgOpen) return
  isPgOpen = true
  const { Hook } = await import('require-in-the-middle')
  new Hook(['pg', 'pg-pool'], { internals: true }, (exports, name) => {
    const { prototype } = Object(exports)
    // A later version may have other classes: its queries are not seen.
    if (typeof prototype?.connect !== 'function' || typeof prototype.query !== 'function') return exports
    if (name === path.join('pg', 'lib', 'client.js')) changeClient(prototype)
    if (name === 'pg-pool') changePool(prototype)
    return exports
  })
}

let isPgOpen = false

function changeClient(prototype: PgClient): void {
  const { connect, query } = prototype
  prototype.connect = function (...args) {
    pgConnects.publish({})
    return connect.apply(this, args)
  }
  prototype.query = function (this: PgClient, ...args) {
    const [given, values, callback] = args
    if (!pgQueries.start.hasSubscribers || given === null || given === undefined) return query.apply(this, args)
    const { database, host = '', port } = this
    const config: Submittable = typeof given === 'string' ? { text: given } : Object(given)
    const message: PgQuery & Outcome = {
      query: config.text ?? config.cursor?.text ?? config.name ?? '',
      values: Array.isArray(values) ? values : (config.values ?? config.cursor?.values ?? undefined),
      database: database ?? '',
      serverAddress: host,
      // A socket has no port.
      serverPort: host.startsWith('/') ? undefined : port,
    }
    pgQueries.start.publish(message)
    try {
      const settle = [callback, values, config.callback].find(each => typeof each === 'function') as AnyFunction
      if (typeof config.submit === 'function') watchSubmittable(config, message)
      else if (settle === undefined) return publishPromise(pgQueries, message, query.apply(this, args))
      else {
        const isInConfig = settle === config.callback
        const parameters = typeof values === 'function' ? undefined : values
        // pg writes a callback into the object, which belongs to the application.
        return query.call(
          this,
          isInConfig ? { ...config } : given,
          parameters,
          publishCallback(pgQueries, message, settle),
        )
      }
      return query.apply(this, args)
    } catch (error) {
      message.error = error
      pgQueries.error.publish(message)
      throw error
    } finally {
      pgQueries.end.publish(message)
    }
  } as AnyFunction
}

/** Publishes the end of a query whose object the client calls: it has ended when the server is ready for the next one. */
function watchSubmittable(submitted: Submittable, message: PgQuery & Outcome): void {
  let isEnded = false
  const end = (outcome: Outcome) => {
    if (isEnded) return
    isEnded = true
    Object.assign(message, outcome)
    pgQueries.asyncStart.publish(message)
    pgQueries.asyncEnd.publish(message)
  }
  wrap(submitted, 'handleReadyForQuery', () => end({ result: (submitted.cursor ?? submitted)._result }))
  wrap(submitted, 'handleError', error => end({ error }))
  const cursor = submitted.cursor ?? submitted
  for (const name of ['read', 'close']) {
    const method = cursor[name]
    if (typeof method !== 'function') continue
    cursor[name] = function (this: unknown, ...args: unknown[]) {
      const last = args.at(-1)
      if (typeof last === 'function') args.splice(-1, 1, publishCallback(pgCallbacks, message, last as AnyFunction))
      return method.apply(this, args)
    }
  }
}

function wrap(target: Submittable, name: string, before: (first: unknown) => void): void {
  const method = target[name]
  if (typeof method !== 'function') return
  target[name] = function (this: unknown, ...args: unknown[]) {
    before(args[0])
    return method.apply(this, args)
  }
}

function changePool(prototype: { connect: AnyFunction }): void {
  const { connect } = prototype
  prototype.connect = function (...args) {
    if (!pgWaits.start.hasSubscribers) return connect.apply(this, args)
    const [callback] = args
    const message: Outcome = {}
    pgWaits.start.publish(message)
    try {
      if (typeof callback === 'function') {
        return connect.call(this, publishCallback(pgWaits, message, callback as AnyFunction))
      }
      return publishPromise(pgWaits, message, connect.apply(this, args))
    } finally {
      pgWaits.end.publish(message)
    }
  }
}

type OutcomeChannel = TracingChannel<object, Outcome>

/** The callback runs within the channel: so a listener can restore its request. */
function publishCallback(to: OutcomeChannel, message: Outcome, callback: AnyFunction): AnyFunction {
  return function (...args) {
    ;[message.error, message.result] = [args[0] ?? undefined, args[1]]
    try {
      return to.asyncStart.runStores(message, () => callback.apply(this, args))
    } finally {
      to.asyncEnd.publish(message)
    }
  }
}

/** Like `tracePromise` of Node: Node still reports a rejection without a handler. */
function publishPromise(to: OutcomeChannel, message: Outcome, promise: unknown): unknown {
  const settle = (outcome: Outcome) => {
    Object.assign(message, outcome)
    to.asyncStart.publish(message)
    to.asyncEnd.publish(message)
  }
  return (promise as Promise<unknown>).then(
    result => {
      settle({ result })
      return result
    },
    error => {
      settle({ error })
      throw error
    },
  )
}

/** A query of postgres.js. It runs when it is awaited for the first time. */
export interface PostgresQuery {
  /** The parts of a template, or the text alone. */
  readonly strings: readonly string[]
  /** Runs it. */
  readonly handler: { readonly name: string }
  /** The statement, once it is sent, and its values. */
  readonly string?: string
  readonly parameters?: readonly unknown[]
  readonly executed: boolean
  handle(): unknown
}

const postgresCreations = channel('sinfonietta:postgres:create')
const postgresQueries = tracingChannel<object, Outcome & { readonly query: PostgresQuery }>(
  'sinfonietta:postgres:query',
)

/** The class of its queries is in a file without imports: one for ES modules, and one for CommonJS. */
async function openPostgres(folder: string): Promise<void> {
  for (const file of ['src/query.js', 'cjs/src/query.js']) {
    const { default: commonJs, ...exports } = await import(pathToFileURL(path.join(folder, file)).href).catch(
      () => ({}),
    )
    const Query = exports.Query ?? commonJs?.Query
    if (typeof Query?.prototype.handle === 'function') changePostgresQuery(Query)
  }
}

function changePostgresQuery(Query: { readonly prototype: PostgresQuery }): void {
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
  const { handle } = prototype
  prototype.handle = function () {
    if (!this.executed && postgresQueries.start.hasSubscribers) publishPostgresQuery(this)
    return handle.call(this)
  }
}

/** A query is sent when it has its statement. One that is never sent begins when it fails. */
function publishPostgresQuery(query: PostgresQuery): void {
  const message: Outcome & { readonly query: PostgresQuery } = { query }
  let isBegun = false
  let isEnded = false
  const begin = () => {
    if (isBegun) return
    isBegun = true
    postgresQueries.start.publish(message)
  }
  const end = (outcome: Outcome) => {
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
  const watchEnd = (name: string, toOutcome: (argument: unknown) => Outcome) =>
    watchProperty(query, name, method => (argument: unknown) => {
      end(toOutcome(argument))
      return (method as AnyFunction).call(query, argument)
    })
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
