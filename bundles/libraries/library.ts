import type { TracingChannel } from 'node:diagnostics_channel'
import Module, { createRequire } from 'node:module'
import path from 'node:path'
import type { FrameworkRoute } from '../../kernel/contracts/functions.ts'
import type { Queries, QueryEnd, QueryResult, QueryStart } from '../../kernel/contracts/queries.ts'
import type { UnseenLibrary } from '../../kernel/contracts/unseen-libraries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import { type ChannelListeners, guard, listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { endAll } from '../../lib/share.ts'
import { type Callers, createCallerSearch } from '../../lib/stack/callers.ts'
import { noteLoad } from '../../lib/stack/source-maps.ts'
import type { ModuleDeclarations } from './declarations.ts'
import { follow } from './framework-calls.ts'
import type { SpanReader } from './spans.ts'

/** A library or a framework: how it is seen, and the code that sees it. */
export interface Library {
  /** Its package, or its module of Node. */
  readonly name: string
  /**
   * Its queries, its HTTP client calls, the functions that a framework calls, with the route, the
   * resolvers of fields, its jobs or other units, its mails, calls of functions of the process, or
   * lines of logs: by the contract of that name in `kernel/contracts/`.
   */
  readonly reports: 'queries' | 'calls' | 'functions' | 'fields' | 'units' | 'mails' | 'process' | 'logs'
  /** Whether its queries are commands of a cache. */
  readonly isCache?: boolean
  /** By its own diagnostics channel, by a patch when it is loaded, or by the spans that it makes. */
  readonly seenBy: 'channel' | 'patch' | 'channel or patch' | 'spans'
  /** The first version that is seen, if there are earlier ones that are not. */
  readonly from?: string
  /** The first version of Node on which it is seen, if it is not each one that this package runs on. */
  readonly node?: string
  /** The parts that are not seen, in Markdown. */
  readonly notSeen?: string
  /**
   * The package that opens its connections, and the `db.system.name` of its servers, if a
   * connection may fail before there is a query.
   */
  readonly connects?: readonly [name: string, system: string]
  /** Of a library with versions that are too old: its packages, each with a file that all its versions load. */
  readonly files?: Readonly<Record<string, string>>
  /**
   * A text that only its own files have, also as a part of a bundle, where it is not seen: in all versions if it is
   * patched, else in those that publish nothing.
   */
  readonly bundledText?: string
  /** The last part of the name of its instrumentation of OpenTelemetry, if it is not its own name. */
  readonly instrumentation?: string
  /** What the spans of its tracer say. */
  readonly spans?: SpanReader
  /** Beginnings of the paths of its own files and probes: requests for them are counted, not recorded. */
  readonly ownPaths?: readonly string[]
  /** Completes the configuration of its instrumentation of OpenTelemetry. */
  readonly configure?: (config: object) => object
  /** Change the exports of files of CommonJS packages when they are loaded. */
  readonly changes?: FileChanges
  /** Change packages, by their names, before the application imports them. */
  readonly opens?: Readonly<Record<string, (folder: string) => Promise<void> | void>>
  /** Take functions and classes of ES modules, also of those that a bundler has written. */
  readonly declares?: ModuleDeclarations
  /** A text of the files with these, if others may have the same names. */
  readonly beside?: string
  /** Reports its queries to a kernel, or its calls, until the returned function is called. */
  readonly watch?: (services: WatchServices) => () => void
  /** Changes functions of the process, in development only, until the returned function is called. */
  readonly patch?: () => () => void
  /** The route that a framework keeps on a message of Node. */
  readonly readRoute?: (message: object) => FrameworkRoute | undefined
  /** Listens to the channel of a framework; a second call does nothing. */
  readonly listen?: () => void
}

/** What is missing of a library that is not seen. */
export function missingWorkOf({ isCache = false, reports }: Library): UnseenLibrary['work'] {
  if (reports === 'fields') return 'resolvers'
  if (reports === 'mails') return 'mails'
  return isCache ? 'commands' : 'queries'
}

/** A message of a tracing channel, with the result of its operation. */
export interface OperationOutcome {
  result?: unknown
  error?: unknown
}

type OutcomeChannel = TracingChannel<object, OperationOutcome>

/**
 * Publishes the end of an operation before its callback, and again behind it: so a listener can
 * restore its request meanwhile.
 */
export function publishCallback(to: OutcomeChannel, message: OperationOutcome, callback: AnyFunction): AnyFunction {
  return observeCalls(callback, (_, [error, result]) => {
    message.error = error ?? undefined
    message.result = result
    to.asyncStart.publish(message)
    return { after: () => void to.asyncEnd.publish(message) }
  })
}

/**
 * Publishes the start of an operation, and the end of its synchronous part; of a promise, also its outcome, like
 * `tracePromise` of Node.
 */
export function publishOperation(to: OutcomeChannel, message: OperationOutcome, hasCallback = false) {
  if (!to.start.hasSubscribers) return undefined
  to.start.publish(message)
  return {
    after(result: unknown) {
      to.end.publish(message)
      return hasCallback ? result : follow(result, outcome => publishOutcome(to, message, outcome))
    },
  }
}

/** Publishes that an operation has ended. */
export function publishOutcome(to: OutcomeChannel, message: OperationOutcome, outcome: OperationOutcome): void {
  Object.assign(message, outcome)
  to.asyncStart.publish(message)
  to.asyncEnd.publish(message)
}

/**
 * Observes a method of a request or response to which each chunk of a body is passed, if something takes them. It gets
 * the same values in the same order, and its results stay as they are. No stream is read, so a paused one stays paused.
 */
export function observeChunks(
  message: object,
  name: 'onBodySent' | 'onData' | 'write' | 'end' | 'push',
  take: ((chunk: unknown, encoding?: unknown) => void) | undefined,
): void {
  if (take === undefined) return
  const note = guard('an HTTP client call', take)
  observeMethod(message, name, (_, args) => void note(args[0], args[1]))
}

/**
 * What changes the exports of files of CommonJS packages when they are loaded, by the ends of
 * their paths: `pg/lib/client.js`. A name that has a hash, as bundlers write it, is without it there.
 */
export type FileChanges = Readonly<Record<string, (exports: unknown, file: string, module?: NodeJS.Module) => void>>

const changes: [end: string, change: FileChanges[string]][] = []

/**
 * Changes the exports of files when they are loaded, also by ES modules. Those of a later version
 * may have another shape: then they stay as they are. A file that is loaded already is not changed.
 */
export function changeFiles(files: FileChanges): void {
  if (Object.keys(files).length > 0) observeLoads()
  changes.push(...toChanges(files))
}

let isObserved = false

/**
 * Observes the loads of CommonJS files: Node calls a method once for each. Those that are no part of an installed
 * package have the time of their load.
 */
export function observeLoads(): void {
  if (isObserved) return
  isObserved = true
  const load: unknown = Reflect.get(Module.prototype, 'load')
  observeMethod(Module.prototype, 'load', (self, [file]) => findChange(self, String(file)))
  // Stacks have `Module.load`: V8 looks for the name of the property that has the function.
  Object.setPrototypeOf(Module.prototype, { load })
}

function toChanges(files: FileChanges): typeof changes {
  return Object.entries(files).map(([end, change]) => [path.sep + path.normalize(end), change])
}

/**
 * Changes the exports of files that are loaded already: a program of its own imports its libraries before it serves.
 * Returns the files for which this is too late: a change that takes the module replaces what others have taken of it.
 */
export function changeLoaded(files: FileChanges): readonly string[] {
  const loaded = Object.entries(createRequire(import.meta.url).cache)
  return loaded.filter(([file, module]) => applyChanges(toChanges(files), module, file)).map(([file]) => file)
}

/** Returns whether a change has taken the module. */
function applyChanges(to: typeof changes, module: NodeJS.Module | undefined, file: string): boolean {
  const name = withoutHash(file)
  const own = to.filter(([end]) => name.endsWith(end))
  for (const [, change] of own) change(module?.exports, file, module)
  return own.some(([, change]) => change.length === 3)
}

function withoutHash(file: string): string {
  return file.replace(/-[\w-]{8}(?=\.cjs$)/, '')
}

/** Gives a CommonJS module another function, also where its exports have getters that cannot be replaced. */
export function replaceExport(
  module: NodeJS.Module | undefined,
  name: string,
  replace: (code: AnyFunction) => AnyFunction,
): void {
  const { exports } = module ?? {}
  const code: unknown = exports?.[name]
  if (module === undefined || typeof code !== 'function') return
  const replaced = { value: replace(code as AnyFunction), enumerable: true, configurable: true, writable: true }
  const all = { ...Object.getOwnPropertyDescriptors(exports), [name]: replaced }
  module.exports = Object.create(Object.getPrototypeOf(exports), all)
}

const modulesFolder = `${path.sep}node_modules${path.sep}`

function findChange(self: unknown, file: string) {
  if (!file.includes(modulesFolder)) noteLoad(file)
  const name = withoutHash(file)
  if (!changes.some(([end]) => name.endsWith(end))) return undefined
  return { after: () => void applyChanges(changes, self as NodeJS.Module, file) }
}

/** The parts that the watches of libraries work with. */
export interface WatchServices {
  readonly queries: Pick<Queries, 'begin' | 'noteWait'>
  readonly context: RequestContext
  /** Finds the callers of the queries of one library. */
  readonly callers: Callers
}

/**
 * Creates the listeners of a tracing channel whose operations are queries. `begin` reports the start, `count` counts
 * the rows of a result. A message has the documented shape: the guard of the channel catches the error if it changes.
 */
export function listenToOperations<Message extends object>(
  channel: string,
  begin: (message: Message) => QueryEnd | undefined,
  count: (result: unknown, message: Message) => number | undefined,
): ChannelListeners {
  const ends = new WeakMap<object, QueryEnd>()
  const finish = listenTo<Message & OperationOutcome>(message => {
    const { error, result } = message
    const settled: QueryResult = error === undefined ? { rows: count(result, message) } : { error }
    ends.get(message)?.(settled)
  })
  return {
    [`tracing:${channel}:start`]: listenTo<Message>(message => {
      const end = begin(message)
      if (end !== undefined) ends.set(message, end)
    }),
    [`tracing:${channel}:asyncStart`]: finish,
    // An error may be thrown at once.
    [`tracing:${channel}:error`]: finish,
  }
}

/**
 * Records the queries of a tracing channel until the returned function is called. Their callbacks run for the request
 * that has made them.
 */
export function watchCommands<Message extends object>(
  { callers, context, queries }: WatchServices,
  channel: string,
  describe: (message: Message) => Pick<QueryStart, 'system' | 'text' | 'parameters' | 'server' | 'library'>,
  count: (result: unknown, message: Message) => number | undefined,
): () => void {
  const findCaller = createCallerSearch(callers, `tracing:${channel}:start`)
  const begin = (message: Message) => queries.begin({ ...describe(message), source: 'channel', findCaller })
  return endAll([
    subscribeChannels(listenToOperations<Message>(channel, begin, count)),
    carryRequests(context, [channel]),
  ])
}

/**
 * Callbacks of tracing channels run for the request that was current when their operation began, until the returned
 * function is called. A message may begin on one of them, and call back on another one.
 */
export function carryRequests(context: RequestContext, channels: readonly string[]): () => void {
  const requests = new WeakMap<object, Request>()
  const note = listenTo<object>(message => {
    if (context.current !== undefined) requests.set(message, context.current)
  })
  const find = (message: unknown) => requests.get(Object(message))
  return endAll(
    channels.flatMap(name => [
      subscribeChannels({ [`tracing:${name}:start`]: note }),
      context.carry(`tracing:${name}`, find),
    ]),
  )
}

/** Writes the place of a server; a socket has no port. */
export function toServer(address: string, port: number | undefined): string {
  return port === undefined ? address : `${address}:${port}`
}
