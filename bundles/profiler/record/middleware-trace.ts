import type { FrameworkFunction, FrameworkRoute, FrameworkWork } from '../../../kernel/contracts/functions.ts'
import type { TextMasker } from '../../../lib/redact/masking-copier.ts'
import { SpanFlag, type SpanRow } from '../profile/span-rows.ts'
import { enterFunction } from './loop-activity.ts'
import { findRegistration } from './registration-lines.ts'
import { type Trace, TracePart } from './trace.ts'

/**
 * The pattern by which a request is counted. Without a route, or where a wildcard is all of its
 * pattern, it is the masked path: paths that differ in numbers and ids only are one.
 */
export function routePatternOf(
  route: Pick<FrameworkRoute, 'pattern'> | undefined,
  path: string,
  redactor: Pick<TextMasker, 'text'>,
): string {
  if (route !== undefined && !isWildcard(route.pattern)) return route.pattern
  return redactor.text(path).replace(/\/(?:\d+|[\da-f]{8}-[\da-f-]{27}|[\da-f]{24,})(?=\/|$)/gi, '/*')
}

/**
 * Whether a pattern matches all paths: `*`, `/{*splat}`, `/{rest*}`, `/**:name`, `(.*)`,
 * `/:page(.*)`, or `/^\/(?!api).+$/i`.
 */
function isWildcard(pattern: string): boolean {
  if (!/\*|\.\+/.test(pattern)) return false
  const rest = pattern.replace(
    /\(\?<?[!=][^)]*\)|(?<=[*+)$])\/[dgimsuvy]+$|\*:?\w+|\w+(?=\*\})|:\w+(?=\(\.[*+]\)|[*+])/g,
    '',
  )
  return !/\w/.test(rest)
}

/** Calls with less time after the functions behind them are not listed a second time. */
const leastTimeAfter = 100

/** The handler has room even behind very many functions. */
const rowLimit = 1000
const handlerLimit = 1100

/**
 * Records the route of a framework, and the functions that it calls, as events record their listeners: a phase
 * stands for an event. A call lasts until the next one begins, so that each moment belongs to one function. What
 * a function does after those behind it is a second call; if these are not done, so is what they do after it.
 */
class MiddlewareTrace implements FrameworkWork {
  readonly #trace: Trace
  /** The functions of calls, with the index of their rows. */
  readonly #functions: [index: number, code: object][] = []
  #phase: SpanRow | undefined
  #phaseIndex = -1
  #call: SpanRow | undefined
  #callIndex = -1
  #running: FrameworkFunction | undefined
  /** Work that has not ended, in the order in which it began, with the index of its row. */
  readonly #measured: { readonly index: number }[] = []
  /** When a function has returned that is not behind another one which still runs; `undefined` since the last call. */
  #left: number | undefined
  /** The functions that have not returned, with what ends their context. */
  readonly #entered: { readonly called: FrameworkFunction; readonly exit: () => void }[] = []
  /** The parameters that were noted last. */
  #noted: unknown
  /** Ends a call that is only counted. */
  #endMore: (() => void) | undefined
  /** The route; `undefined` if the framework has none. */
  route: FrameworkRoute | undefined
  /**
   * The parameters of the path that any function has seen: a router that is mounted below a path does not pass them on.
   */
  readonly parameters: Record<string, unknown> = {}
  /** The name of the handler, if the function of the route is that of the framework. */
  handler = ''

  constructor(trace: Trace) {
    this.#trace = trace
  }

  /** A framework calls a function. */
  begin(called: FrameworkFunction, isFollowed = false): void {
    if (this.#trace.duration !== undefined) return
    const now = this.#trace.events.now()
    this.#noteParameters(called.parameters)
    this.#endCall(now)
    this.#left = undefined
    this.#resume(called, now)
    const exit = isFollowed ? enterFunction(called.code) : undefined
    if (exit !== undefined) this.#entered.push({ called, exit })
  }

  /** The function that was called last, and is not done; `undefined` if there is none. */
  get running(): FrameworkFunction | undefined {
    return this.#running
  }

  /** When it was called, in milliseconds since the request began. */
  get since(): number {
    return (this.#call?.[2] ?? 0) / 1000
  }

  /** It calls a function of the route; it may call others for its error, outside of the router of the route. */
  noteRoute(route: FrameworkRoute): void {
    if (this.route?.key === route.key) return
    this.route = route
    this.#noteParameters(route.parameters)
  }

  /** Express makes one object for a route and its functions. */
  #noteParameters(parameters: unknown): void {
    if (parameters !== this.#noted) Object.assign(this.parameters, parameters)
    this.#noted = parameters
  }

  /** A call has thrown, or has passed an error on to the next function. */
  fail(error: unknown): void {
    if (this.#trace.thrown.includes(error)) return
    this.#trace.addThrown(error)
    if (this.#call !== undefined) this.#call[5] = SpanFlag.Threw
  }

  /** A function has returned. */
  leave(called: FrameworkFunction): void {
    // A block that ends here is one of this function, not of the one that it returns to.
    const now = this.#trace.duration === undefined ? this.#trace.events.now() : undefined
    const at = this.#entered.findLastIndex(entered => entered.called === called)
    if (at !== -1) this.#entered.splice(at)[0]?.exit()
    if (now === undefined) return
    const since = this.#left ?? now
    this.#left = now
    if (now - since < leastTimeAfter) return
    const following = this.#running
    this.#endCall(since)
    this.#resume(called, since)
    this.#endCall(now)
    if (following !== undefined) this.#resume(following, now)
  }

  /** A function is done. */
  end(called: FrameworkFunction): void {
    if (this.#trace.duration === undefined && this.#running === called) this.#endCall(this.#trace.events.now())
  }

  /** A function that is called after the response is done. */
  conclude(): void {
    this.#trace.extend()
  }

  /** The functions behind one are done. The returned function is called when it is done itself. */
  pass(called: FrameworkFunction): () => void {
    const start = this.#trace.events.now()
    this.#endCall(start)
    return () => {
      if (this.#trace.duration !== undefined) return
      const now = this.#trace.events.now()
      if (now - start < leastTimeAfter) return
      this.#call = this.#add(called, start)
      this.#endCall(now)
    }
  }

  /** Work of a library, within the work, or else the call, that began last and has not ended. */
  measure(phase: string, name: string, elapsed = 0): (hasFailed: boolean) => void {
    const { events } = this.#trace
    const start = events.now() - Math.round(elapsed * 1000)
    if (this.#trace.duration !== undefined) return Boolean
    if (events.rows.length >= rowLimit) {
      events.dropped++
      const end = events.timeMore()
      return () => end()
    }
    const around: SpanRow = ['phase', phase, start, null, this.#measured.at(-1)?.index ?? this.#callIndex]
    const row: SpanRow = ['function', name, start, null, events.rows.push(around) - 1]
    const work = { index: events.rows.push(row) - 1 }
    this.#measured.push(work)
    return hasFailed => {
      const now = events.now()
      around[3] = row[3] = now - start
      if (hasFailed) row[5] = SpanFlag.Threw
      this.#measured.splice(this.#measured.indexOf(work), 1)
    }
  }

  /** The framework has answered. */
  finish(): void {
    const now = this.#trace.events.now()
    this.#endCall(now)
    this.#endPhase(now)
  }

  /** The row of the last call of a function; `undefined` if it has none. */
  indexOf(code: object): number | undefined {
    return this.#functions.findLast(([, each]) => each === code)?.[0]
  }

  /** The places of the calls, by the index of their rows. */
  places(directory: string): [number, string][] {
    return this.#functions.flatMap(([index, code]): [number, string][] => {
      const { file, line } = findRegistration(code, directory) ?? {}
      return file === undefined ? [] : [[index, `${file}:${line}`]]
    })
  }

  #resume(called: FrameworkFunction, start: number): void {
    this.#call = this.#add(called, start)
    this.#running = called
  }

  #add({ code, name, phase }: FrameworkFunction, start: number): SpanRow | undefined {
    const { events } = this.#trace
    if (events.rows.length >= (phase === 'handler' ? handlerLimit : rowLimit)) {
      events.dropped++
      this.#endMore = events.timeMore()
      return undefined
    }
    if (this.#phase?.[1] !== phase) {
      this.#endPhase(start)
      this.#phase = ['phase', phase, start, null]
      const inListener = events.atCallEnd(() => this.finish())
      if (inListener !== undefined) this.#phase[4] = inListener
      this.#phaseIndex = events.rows.push(this.#phase) - 1
    }
    const row: SpanRow = ['function', name || 'anonymous', start, null, this.#phaseIndex]
    this.#callIndex = events.rows.push(row) - 1
    this.#functions.push([this.#callIndex, code])
    return row
  }

  #endCall(now: number): void {
    this.#endMore?.()
    this.#endMore = undefined
    if (this.#call !== undefined) this.#call[3] = now - this.#call[2]
    this.#call = undefined
    this.#callIndex = -1
    this.#running = undefined
  }

  #endPhase(now: number): void {
    if (this.#phase !== undefined) this.#phase[3] = now - this.#phase[2]
    this.#phase = undefined
  }
}

/** What another framework did for a request: that of another server, or that of a mounted handler. */
export const middlewarePart: TracePart<MiddlewareTrace> = new TracePart(trace => new MiddlewareTrace(trace))
