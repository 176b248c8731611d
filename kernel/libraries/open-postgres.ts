import { channel, tracingChannel } from 'node:diagnostics_channel'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyFunction, OperationOutcome } from './publish.ts'

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
const postgresQueries = tracingChannel<object, OperationOutcome & { readonly query: PostgresQuery }>(
  'sinfonietta:postgres:query',
)

/** The class of its queries is in a file without imports: one for ES modules, and one for CommonJS. */
export async function openPostgres(folder: string): Promise<void> {
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
  const message: OperationOutcome & { readonly query: PostgresQuery } = { query }
  let isBegun = false
  let isEnded = false
  const begin = () => {
    if (isBegun) return
    isBegun = true
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
