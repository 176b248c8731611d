import { tracingChannel } from 'node:diagnostics_channel'
import { type AnyFunction, type BeforeCall, observeMethod } from '../../lib/observe-calls.ts'
import { type Library, type OperationOutcome, publishCallback, watchCommands } from './library.ts'
import { toParameters } from './measure-sqlite.ts'

/** A method of a database calls that of a statement, with the same callback. */
export const sqlite3: Library = {
  name: 'sqlite3',
  reports: 'queries',
  seenBy: 'patch',
  notSeen: 'statements without a callback at their end; transactions',
  changes: { 'sqlite3/lib/sqlite3.js': changeClasses },
  watch: services => watchCommands(services, channelName, describeQuery, countRows),
}

/** A message of the channel. */
interface Sqlite3Call extends OperationOutcome {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
  /** `undefined` of a method `map`. */
  readonly database: { readonly filename?: unknown } | undefined
}

const channelName = 'sinfonietta:sqlite3:query'
const channel = tracingChannel<object, OperationOutcome>(channelName)

/** The databases of statements. */
const databases = new WeakMap<object, object>()

/** The callbacks of statements that are reported. */
const published = new WeakSet<object>()

function changeClasses(exports: unknown): void {
  const { Database, Statement } = Object(exports)
  observeMethod(Object(Database).prototype, 'prepare', database => ({
    after: statement => void databases.set(Object(statement), Object(database)),
  }))
  for (const name of ['exec', 'run', 'get', 'all', 'each']) {
    observeMethod(Object(Database).prototype, name, (database, args) => {
      const [text, ...values] = args
      return publish({ name, text: String(text), values, database: Object(database) }, args)
    })
    observeMethod(Object(Statement).prototype, name, (statement, args) => {
      const { sql } = Object(statement)
      const database = databases.get(Object(statement))
      return publish({ name, text: String(sql), values: [...args], database }, args)
    })
  }
}

function publish(call: Sqlite3Call, args: unknown[]): ReturnType<BeforeCall> {
  const callback = args.at(-1)
  // The only function of `each` gets the rows.
  const isEnd = call.name !== 'each' || typeof args.at(-2) === 'function'
  if (!channel.start.hasSubscribers || typeof callback !== 'function' || !isEnd || published.has(callback))
    return undefined
  const message = { ...call, values: call.values.filter(value => typeof value !== 'function') }
  channel.start.publish(message)
  const observed = publishCallback(channel, message, callback as AnyFunction)
  published.add(observed)
  args.splice(-1, 1, observed)
  return undefined
}

function describeQuery({ database, text, values }: Sqlite3Call) {
  return {
    system: 'sqlite',
    text,
    parameters: toParameters(values),
    server: typeof database?.filename === 'string' ? database.filename : undefined,
    library: 'sqlite3',
  }
}

/** `undefined` of `run` and `exec`: the number of changes may be that of an earlier statement. */
function countRows(result: unknown, { name }: Sqlite3Call): number | undefined {
  if (name === 'get') return result === undefined ? 0 : 1
  if (Array.isArray(result)) return result.length
  return typeof result === 'number' ? result : undefined
}
