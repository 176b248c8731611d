import { currentMessage, type FrameworkWork, report } from '../../kernel/contracts/functions.ts'
import type { DatabaseSpan } from '../../kernel/contracts/span-query.ts'
import { guard } from '../../lib/guard.ts'
import { type AnyFunction, type BeforeCall, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import type { BeginSpanQuery } from './late-queries.ts'
import { type ApiGlobal, shareApi } from './spans-api.ts'

/** A span of a library, with what is known of it until now. */
export interface LibrarySpan {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** Of the request itself, or of a call of another program. */
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
}

/** Knows what the spans of a tracer say. */
export interface SpanReader {
  /** The name of the tracer. */
  readonly tracer: string
  /** The work that a span stands for; `undefined` for a span that is not shown. */
  describe(span: LibrarySpan): { readonly phase: string; readonly name: string } | undefined
  /** The pattern of the route that a span names. */
  findRoute(span: LibrarySpan): string | undefined
  /** Whether an error of a span has failed the request: others are caught by the library, or are answers. */
  isFailure(error: unknown, span: LibrarySpan): boolean
}

/** The services of {@link watchSpans}. */
interface SpanServices {
  readonly readers: readonly SpanReader[]
  readonly beginQuery: BeginSpanQuery
  /** Whether the work of a tracer is reported without its spans. */
  readonly isReported: (tracer: string) => boolean
}

/**
 * Reports the spans that libraries make by the API of OpenTelemetry, until the returned function is
 * called: with a provider of its own if the application has none, or else beside that of the
 * application, also if it is registered later. What that exports stays the same, and contexts are left
 * alone: a span belongs to the current request. It must be called before the application is loaded.
 */
export function watchSpans(services: SpanServices): () => void {
  const { beginQuery, isReported, readers } = services
  const known = new Map<string, SpanReader | undefined>()
  const readerOf = (tracer: string) => {
    if (!known.has(tracer)) known.set(tracer, isReported(tracer) ? undefined : findReader(readers, tracer))
    return known.get(tracer)
  }
  const begin = guard('a span', (tracer: string, [name, options]: readonly unknown[]) => {
    const reader = readerOf(tracer)
    const work = reader && report(currentMessage, work => work)
    return work && new ObservedSpan({ work, reader, beginQuery }, String(name), Object(options))
  })
  return shareApi(api => createProvider(api, begin), createProviderWatch(begin))
}

/** Begins the report of a span, by the name of its tracer and the arguments of `startSpan`. */
type BeginSpan = (tracer: string, args: readonly unknown[]) => ObservedSpan | undefined

/** The reader of tracers that no library of the list has: a span is a function, and its phase is the tracer. */
function findReader(readers: readonly SpanReader[], tracer: string): SpanReader {
  return (
    readers.find(each => each.tracer === tracer) ?? {
      tracer,
      describe: ({ attributes, kind, name }) =>
        kind === 'server' || isSeenElsewhere(attributes) ? undefined : { phase: tracer || 'span', name },
      findRoute: ({ attributes, kind }) => (kind === 'client' ? undefined : toText(attributes['http.route'])),
      isFailure: (_, { kind }) => kind === 'server',
    }
  )
}

/** Whether the span is a call by HTTP or a query, which the watches of clients and databases report. */
function isSeenElsewhere(attributes: LibrarySpan['attributes']): boolean {
  return ['http.request.method', 'http.method', 'db.system.name', 'db.system'].some(name => name in attributes)
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const kinds = ['internal', 'server', 'client', 'producer', 'consumer'] as const

const errorStatus = 2

/** The options of `startSpan` that are read. */
interface SpanOptions {
  readonly attributes?: object
  readonly kind?: number
}

/** What a span is reported to. */
interface SpanReceivers {
  readonly work: FrameworkWork
  readonly reader: SpanReader
  readonly beginQuery: BeginSpanQuery
}

/** A span that is reported. Its methods have the arguments of those of the API. */
class ObservedSpan implements LibrarySpan, DatabaseSpan {
  name: string
  readonly attributes: Record<string, unknown>
  readonly kind: LibrarySpan['kind']
  readonly #work: FrameworkWork
  readonly #reader: SpanReader
  readonly #finish: ((hasFailed: boolean) => void) | undefined
  status: DatabaseSpan['status'] = {}
  readonly events: DatabaseSpan['events'][number][] = []

  constructor({ beginQuery, reader, work }: SpanReceivers, name: string, { attributes, kind }: SpanOptions) {
    this.name = name
    this.attributes = { ...attributes }
    this.kind = kinds[kind ?? 0] ?? 'internal'
    this.#work = work
    this.#reader = reader
    this.#noteRoute()
    const described = reader.describe(this)
    this.#finish = described ? work.measure(described.phase, described.name) : beginQuery(this)
  }

  setAttribute(name: unknown, value: unknown): void {
    this.attributes[String(name)] = value
    this.#noteRoute()
  }

  setAttributes(attributes: unknown): void {
    Object.assign(this.attributes, attributes)
    this.#noteRoute()
  }

  updateName(name: unknown): void {
    this.name = String(name)
  }

  setStatus(status: unknown): void {
    this.status = Object(status)
  }

  recordException(error: unknown): void {
    this.events.push({ name: 'exception', attributes: { 'exception.message': readProperty(error, 'message') } })
    if (error instanceof Error && this.#reader.isFailure(error, this)) this.#work.fail(error)
  }

  end(): void {
    this.#finish?.(this.events.length > 0 || this.status.code === errorStatus)
  }

  #noteRoute(): void {
    const pattern = this.#reader.findRoute(this)
    if (pattern === undefined || this.#work.route !== undefined) return
    this.#work.noteRoute({ key: this.#reader, pattern, parameters: undefined, handler: '' })
  }
}

const observed = ['setAttribute', 'setAttributes', 'updateName', 'setStatus', 'recordException', 'end'] as const

type ObservedMethod = (typeof observed)[number]

/** A context of the API. */
interface Context {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): Context
}

/** The key of the span in a context: the same symbol in each copy of the API. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')

/** The identity of a span that is none. */
export const noSpan = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }

/**
 * The provider of an application that has none. Its tracers pass everything on to that of the
 * application as soon as there is one.
 */
function createProvider(api: ApiGlobal, begin: BeginSpan): NonNullable<ApiGlobal['trace']> {
  function getTracer(...scope: readonly unknown[]): object {
    const name = String(scope[0])
    let tracer: object | undefined
    const findTracer = () => {
      tracer ??= api.trace?.getTracer(...scope)
      return tracer
    }
    const start = (args: readonly unknown[]) => {
      const seen = begin(name, args)
      return createApiSpan(parentOf(api, args[2]), seen && ((method, args) => note(seen, method, args)))
    }
    // Without a frame of this file: the function of an active span is that of the application.
    const method = (code: AnyFunction, instead: (args: unknown[]) => AnyFunction) =>
      observeCalls(code, (_, args) => {
        const other = findTracer()
        return other === undefined ? instead(args) : bindMethod(other, code.name)
      })
    return {
      startSpan: method(
        function startSpan() {
          return createApiSpan(noSpan)
        },
        args => {
          const span = start(args)
          return () => span
        },
      ),
      startActiveSpan: method(
        function startActiveSpan(...args: unknown[]) {
          return Reflect.apply(args.at(-1) as AnyFunction, undefined, [createApiSpan(noSpan)])
        },
        args => {
          const [name, options, context] = args
          const code = args.at(-1)
          const given = args.length > 3 ? (context as Context) : undefined
          const span = start([name, args.length > 2 ? options : undefined, given])
          const manager = api.context
          args.length = 0
          if (manager === undefined) {
            args.push(span)
            return bind.call(code as AnyFunction, undefined) as AnyFunction
          }
          args.push((given ?? (manager.active() as Context)).setValue(spanKey, span), code, undefined, span)
          return bindMethod(manager, 'with')
        },
      ),
    }
  }
  return { getTracer }
}

const { bind } = Function.prototype

function bindMethod(owner: object, name: string): AnyFunction {
  return bind.call(Reflect.get(owner, name) as AnyFunction, owner) as AnyFunction
}

/** As without a provider, a span has the identity of the span in its context. */
function parentOf(api: ApiGlobal, given: unknown): object {
  const context = (given ?? api.context?.active()) as Context | undefined
  const parent = context?.getValue(spanKey) as { spanContext?(): object } | undefined
  return parent?.spanContext?.() ?? noSpan
}

/** Creates a span of the API. `take` gets the calls of its methods until it has ended; without it, none is recorded. */
export function createApiSpan(
  identity: object,
  take?: (method: ObservedMethod, args: readonly unknown[]) => void,
): object {
  let isEnded = false
  const span: Record<string, unknown> = {
    spanContext: () => identity,
    isRecording: () => take !== undefined && !isEnded,
  }
  for (const method of ['addEvent', 'addLink', 'addLinks']) span[method] = () => span
  for (const method of observed) {
    const result = method === 'end' || method === 'recordException' ? undefined : span
    span[method] = (...args: readonly unknown[]) => {
      if (!isEnded) take?.(method, args)
      isEnded ||= method === 'end'
      return result
    }
  }
  return span
}

const note = guard('a span', (span: ObservedSpan | undefined, method: ObservedMethod, args: readonly unknown[]) =>
  span?.[method](...(args as [unknown, unknown])),
)

/** Creates what observes the classes of the providers, tracers and spans of the application. */
function createProviderWatch(begin: BeginSpan): (provider: object) => void {
  const spans = new WeakMap<object, ObservedSpan>()
  /** The names of the tracers. */
  const names = new WeakMap<object, string>()
  const watched = new WeakSet<object>()
  /** Observes a method of the class of an object, once. */
  const observe = (object: object, name: string, before: BeforeCall) => {
    let owner: object | null = object
    while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner)
    const method: unknown = owner && Reflect.get(owner, name)
    if (owner === null || typeof method !== 'function' || watched.has(method)) return
    observeMethod(owner, name, before)
    watched.add(Reflect.get(owner, name))
  }
  const nameOf = (tracer: object) => {
    const { instrumentationLibrary, instrumentationScope = instrumentationLibrary } = tracer as Scoped
    return names.get(tracer) ?? String(instrumentationScope?.name)
  }
  const addSpan = (span: object, tracer: object, args: readonly unknown[]) => {
    const seen = spans.has(span) ? undefined : begin(nameOf(tracer), args)
    if (seen === undefined) return
    spans.set(span, seen)
    for (const method of observed)
      observe(span, method, (self, args) => void note(spans.get(Object(self)), method, args))
  }
  const addTracer = (tracer: object, name: string) => {
    names.set(tracer, name)
    observe(tracer, 'startSpan', (self, args) => ({ after: span => addSpan(Object(span), Object(self), args) }))
  }
  return provider =>
    observe(provider, 'getTracer', (_, [name]) => ({ after: tracer => addTracer(Object(tracer), String(name)) }))
}

/** A tracer of the SDK, version 2 or 1. */
interface Scoped {
  readonly instrumentationScope?: { readonly name?: unknown }
  readonly instrumentationLibrary?: { readonly name?: unknown }
}
