import { existsSync } from 'node:fs'
import path from 'node:path'
import { types } from 'node:util'
import { beginField, type FieldRun, failField } from '../../kernel/contracts/fields.ts'
import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { findPackage } from '../../lib/find-package.ts'
import { guard, listenTo, subscribeChannels } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * Version 17 reports the calls of resolvers. Version 16 does not, nor do executors of other packages, such
 * as that of Yoga: they call the resolvers of the schema, which are observed when the schema is used first.
 */
export const graphql: Library = {
  name: 'graphql',
  reports: 'fields',
  seenBy: 'channel or patch',
  from: '16',
  files: { graphql: 'type/schema.js' },
  notSeen: 'fields without a resolver of their own',
  changes: {
    'graphql/type/schema.js': (exports, file) => {
      if (!reportsAll(path.dirname(path.dirname(file)))) watchSchemas(prototypeOf(exports, 'GraphQLSchema'))
    },
    'graphql/error/GraphQLError.js': exports => watchErrors(prototypeOf(exports, 'GraphQLError')),
  },
  opens: { graphql: openModules },
  listen: listenToResolvers,
}

/** Applications load version 17 as ES modules. */
async function openModules(folder: string): Promise<void> {
  if (!existsSync(path.join(folder, 'diagnostics.mjs'))) return
  watchErrors(await loadPrototype(path.join(folder, 'error/GraphQLError.mjs'), 'GraphQLError'))
  if (!reportsAll(folder)) watchSchemas(await loadPrototype(path.join(folder, 'type/schema.mjs'), 'GraphQLSchema'))
}

/** Whether all calls of resolvers are reported: other packages that execute documents do not report them. */
function reportsAll(folder: string): boolean {
  const hasOther = ['@graphql-tools/executor', 'graphql-jit'].some(name => findPackage(folder, name) !== undefined)
  return !hasOther && existsSync(path.join(folder, 'diagnostics.js'))
}

function prototypeOf(exports: unknown, name: string): object | undefined {
  const found = (exports as Readonly<Record<string, { readonly prototype: object } | undefined>>)[name]
  return found?.prototype
}

interface ResolveMessage {
  readonly fieldName: string
  readonly parentType: string
  readonly fieldPath: string
  readonly isDefaultResolver: boolean
}

/** Whether the call of a resolver that comes next is reported already. */
let isReported = false

let isListening = false

function listenToResolvers(): void {
  if (isListening) return
  isListening = true
  const runs = new WeakMap<object, FieldRun>()
  const end = (message: object) => {
    if ('result' in message || 'error' in message) runs.get(message)?.end('error' in message)
  }
  subscribeChannels({
    'tracing:graphql:resolve:start': listenTo<ResolveMessage>(message => {
      const { fieldName, isDefaultResolver, parentType } = message
      if (isDefaultResolver) return
      isReported = true
      const run = beginField({ field: `${parentType}.${fieldName}`, path: () => message.fieldPath })
      if (run !== undefined) runs.set(message, run)
    }),
    'tracing:graphql:resolve:end': listenTo<object>(message => {
      isReported = false
      runs.get(message)?.leave()
      end(message)
    }),
    'tracing:graphql:resolve:asyncEnd': listenTo<object>(end),
  })
}

/** The parts of a schema that are read. */
interface Schema {
  getTypeMap(): Readonly<Record<string, { getFields?(): Readonly<Record<string, { resolve?: unknown }>> }>>
}

const schemas = new WeakSet<object>()

/** Both the validation of a document and its execution ask for its root type. */
function watchSchemas(prototype: object | undefined): void {
  observeMethod(prototype, 'getRootType', self => {
    const schema = self as Schema & object
    if (!schemas.has(schema)) watchFields(schema)
  })
}

/** Resolvers that are observed: another schema may have the same ones. */
const observed = new WeakSet<object>()

/** A default resolver, of this package or of another one, only reads a property. */
const defaultName = /^default\w*Resolver$/

function watchFields(schema: Schema & object): void {
  schemas.add(schema)
  for (const [name, type] of Object.entries(schema.getTypeMap())) {
    if (name.startsWith('__')) continue
    for (const field of Object.values(type.getFields?.() ?? {})) {
      const { resolve } = field
      if (typeof resolve !== 'function' || observed.has(resolve) || defaultName.test(resolve.name)) continue
      const watched = watchResolver(resolve as AnyFunction)
      if (Reflect.set(field, 'resolve', watched)) observed.add(watched)
    }
  }
}

/** What a resolver gets about its field. */
interface ResolveInfo {
  readonly fieldName: string
  readonly parentType: { readonly name: string }
  readonly path: FieldPath
}

interface FieldPath {
  readonly key: string | number
  readonly prev?: FieldPath | undefined
}

/** The resolver that runs now; it has not returned. */
let running: FieldRun | undefined

/** The resolutions that have begun: a resolver may call another one that is observed, with its own values. */
const begun = new WeakSet<object>()

function watchResolver(resolve: AnyFunction): AnyFunction {
  return observeCalls(resolve, (_, args) => {
    if (isReported) {
      isReported = false
      return undefined
    }
    const info = args[3] as ResolveInfo | undefined
    if (info?.path === undefined || begun.has(info.path)) return undefined
    begun.add(info.path)
    const run = beginField({ field: `${info.parentType.name}.${info.fieldName}`, path: () => toText(info.path) })
    if (run === undefined) return undefined
    const outer = running
    running = run
    return {
      after(result) {
        running = outer
        run.leave()
        followValue(result, run)
      },
    }
  })
}

function toText({ key, prev }: FieldPath): string {
  return prev === undefined ? String(key) : `${toText(prev)}.${key}`
}

const { then } = Promise.prototype

/**
 * The executor follows the value, too: it handles a rejection. To follow another thenable, such as
 * a query builder, would run it again.
 */
function followValue(value: unknown, run: FieldRun): void {
  if (types.isPromise(value) && value.then === then) {
    Reflect.apply(then, value, [() => run.end(false), () => run.end(true)])
    return
  }
  if (typeof value !== 'object' || !isThenable(value)) {
    run.end(false)
    return
  }
  observeMethod(value, 'then', (_, args) => {
    for (const [index, hasFailed] of [false, true].entries()) {
      const callback = args[index]
      if (typeof callback === 'function')
        args[index] = observeCalls(callback as AnyFunction, () => void run.end(hasFailed))
    }
  })
}

/**
 * Each error of a result is an object of this class, which gets its path, and then the error that
 * was thrown: no resolver has a frame of the profiler on its stack.
 */
function watchErrors(prototype: object | undefined): void {
  if (prototype === undefined) return
  const note = guard('the error of a field', (located: object, error: unknown) => {
    const { path: keys } = located as { readonly path?: unknown }
    if (error === undefined || !Array.isArray(keys)) return
    // Its resolver has thrown at once.
    running?.leave()
    running?.end(true)
    running = undefined
    failField(error, keys.join('.'))
  })
  Reflect.defineProperty(prototype, 'originalError', {
    configurable: true,
    get: () => undefined,
    set(this: object, value: unknown) {
      Reflect.defineProperty(this, 'originalError', { value, configurable: true, enumerable: true, writable: true })
      note(this, value)
    },
  })
}
