// For the signal that it declares.

import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { observeDumps } from '../../../kernel/dump.ts'
import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { maskAndCut } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { formatTree } from '../../../lib/redact/value-tree.ts'
import type { Signals } from '../../../lib/signals.ts'
import { type Caller, Callers, type CodePlace, type Running } from '../../../lib/stack/callers.ts'
import { locateFrame } from '../../../lib/stack/locate-frame.ts'
import { CallTraces, parseStack } from '../../../lib/stack/stack-frames.ts'
import { escapeControls } from '../../../lib/text/escapes.ts'
import type { RenderTracer } from '../../../lib/view/traceable-view.ts'
import type { ConsoleEntry } from '../profile/console-data.ts'
import { formatPlace } from '../profile/format.ts'
import { leakChannel } from '../profile/work-data.ts'
import { ConsoleTrace, describeConsole, describeDump } from './console-trace.ts'
import type { Profiler } from './profiler.ts'
import { RenderTrace } from './render-trace.ts'
import type { Trace } from './trace.ts'
import { watchConsole } from './watch-console.ts'

/** The number of uses that are recorded for one request. The session counts all uses. */
const useLimit = 50

/** Records where requests use their session, until the returned function is called. */
export function observeSessions(
  { context, signals }: { readonly context: RequestContext; readonly signals: Signals },
  profiler: Pick<Profiler, 'find'>,
): () => void {
  const traces = new CallTraces()
  return signals.on('session.used', ({ request, use: { captureCallSite, method } }) => {
    // A sub-request uses the session of its main request; the use is recorded on the sub-request.
    const trace = profiler.find(context.current) ?? profiler.find(request)
    if (trace === undefined || trace.sessionUses.length === useLimit) return
    trace.sessionUses.push({ method, at: trace.elapsed(), frames: traces.framesOf(captureCallSite) })
  })
}

/** Finds the trace of the request for which a template is rendered; without a request, of the current request. */
type FindTrace = (request?: Request) => Trace | undefined

/** Creates the tracer that records every page and partial on its trace. */
export function createRenderTracer(findTrace: FindTrace): RenderTracer {
  return {
    begin(name, model, request, globals = []) {
      // The profiler's parts of an error page are not work of the request.
      const trace = name.startsWith('profiler/') ? undefined : findTrace(request)
      if (trace === undefined) return undefined
      trace.renders ??= new RenderTrace()
      const { renders } = trace
      const render = renders.begin(name, model, globals, trace.elapsed())
      if (render === undefined) return undefined
      return hasFailed => {
        if (hasFailed) render.hasFailed = true
        renders.end(render, trace.elapsed())
        if (!hasFailed) trace.touch()
      }
    },
    beginWait(request) {
      const trace = findTrace(request)
      const begin = performance.now()
      const before = trace?.renders?.rendered ?? 0
      return () => {
        // A page with a global that is a promise is rendered during the wait.
        const renders = trace?.renders
        if (renders !== undefined) renders.waited += performance.now() - begin - (renders.rendered - before)
      }
    },
  }
}

/**
 * Reports uncaught errors and unhandled rejections to the profiler, until the returned function is called. The process
 * ends because of them as it does without the profiler.
 */
export function watchCrashes(profiler: Profiler, context: RequestContext, logger: Logger): () => void {
  const onCrash = (error: unknown) => {
    // The work of this request has failed, possibly long after its response.
    const culprit = context.current
    profiler.crash(error, culprit)
    const token = profiler.find(culprit)?.token
    if (token !== undefined)
      logger.critical('The profile {profile} has the exception that ends the process.', { profile: token })
  }
  process.on('uncaughtExceptionMonitor', onCrash)
  return () => process.off('uncaughtExceptionMonitor', onCrash)
}

/** The services of {@link observeConsole}. */
interface ConsoleServices {
  /** Finds the trace of the current request. */
  readonly findTrace: FindTrace
  readonly redactor: Redactor
  readonly directory: string
  /** Where a dump outside of a request is printed. */
  readonly terminal: { write(text: string): unknown }
}

/** The calls of the application that `console.trace` shows. */
const callerLimit = 20

/**
 * Records the calls of `dump` and of `console` on the traces of their requests, until the returned function is called.
 */
export function observeConsole({ directory, findTrace, redactor, terminal }: ConsoleServices): () => void {
  const callers = new Callers(directory)
  const findSite = (): CodePlace | undefined => {
    const { callers: _, ...site } = callers.find() ?? {}
    return site.file === undefined ? undefined : site
  }
  const add = (describe: () => Pick<ConsoleEntry, 'method' | 'label' | 'values' | 'callers'>) => {
    const trace = findTrace()
    if (trace === undefined) return false
    trace.console ??= new ConsoleTrace()
    trace.console.add(() => {
      const at = Math.round(trace.elapsed() * 1000)
      const site = findSite()
      return { at, ...describe(), ...(site !== undefined && { site }) }
    })
    trace.touch()
    return true
  }
  const stopDumps = observeDumps({
    record: (value, label) =>
      add(() => ({
        method: 'dump',
        ...(label !== undefined && { label: maskAndCut(label, labelLength, redactor) }),
        values: [describeDump(value, redactor, directory)],
      })),
    print(value, label) {
      const site = findSite()
      const head = ['dump', label === undefined ? '' : redactor.text(label), formatPlace(site ?? {})]
      const lines = formatTree(describeDump(value, redactor, directory)).split('\n')
      terminal.write([head.filter(Boolean).join(' '), ...lines].map(line => `${escapeControls(line)}\n`).join(''))
    },
  })
  const stopConsole = watchConsole((method, values) => {
    if (isRecordedWarning(values)) return
    add(() => ({
      method,
      values: describeConsole(method, values, redactor, directory),
      ...(method === 'trace' && { callers: callers.list(callerLimit) }),
    }))
  })
  return () => {
    stopDumps()
    stopConsole()
  }
}

const labelLength = 200

/** The warnings of Node.js and of packages that are recorded: the channels of their log messages, by their names. */
const warningChannels: ReadonlyMap<string, string> = new Map([
  ['DeprecationWarning', 'deprecation'],
  ['MaxListenersExceededWarning', leakChannel],
])

/** Whether Node.js prints a warning that is a log message already. */
function isRecordedWarning([text]: readonly unknown[]): boolean {
  if (typeof text !== 'string' || !text.startsWith(`(node:${process.pid}) `)) return false
  return [...warningChannels.keys()].some(name => text.includes(`${name}: `))
}

/** Characters of a warning. */
const warningLength = 2000

/**
 * Records warnings of Node.js and of packages on the traces of their requests, as log messages of the channels `deprecation` and
 * `listeners`, until the returned function is called. Node.js prints them as before, and reports most of them once per process.
 */
export function observeWarnings({
  directory,
  findTrace,
  redactor,
}: Pick<ConsoleServices, 'directory' | 'findTrace' | 'redactor'>): () => void {
  const onWarning = (warning: Error & { readonly code?: string }) => {
    const channel = warningChannels.get(warning.name)
    const trace = channel === undefined ? undefined : findTrace()
    if (channel === undefined || trace === undefined) return
    const { code, message } = warning
    const text = maskAndCut(code === undefined ? message : `${code}: ${message}`, warningLength, redactor)
    const record = { level: 'warning', channel, message: text, context: {} } as const
    trace.logs.add({ ...record, time: new Date().toISOString() }, () => findCaller(warning, directory))
    trace.touch()
  }
  process.on('warning', onWarning)
  return () => process.off('warning', onWarning)
}

/** Records long synchronous calls for files and processes on the traces of their main requests, until the returned function is called. */
export function observeSyncCalls({
  directory,
  findTrace,
}: Pick<ConsoleServices, 'directory' | 'findTrace'>): () => void {
  const callers = new Callers(directory)
  return watchSyncCalls(({ duration, name, start }, below) => {
    const main = findTrace()?.main
    main?.usage?.addSyncCall({ name, start: start - main.start, duration, caller: callers.find(below) })
  })
}

/** Finds the first place of the application on the stack of an error. */
function findCaller(error: Error, directory: string): Caller | undefined {
  for (const frame of parseStack(error)) {
    const { file, origin } = locateFrame(frame, directory)
    if (origin === 'application' && file !== undefined) return { file, line: frame.line, column: frame.column }
  }
  return undefined
}

/** Milliseconds: shorter calls are not reported. In this time, the event loop handles no other request. */
const leastTime = 50

/** A call of a synchronous function of `node:fs` or `node:child_process`. */
export interface SyncCall {
  /** Such as `fs.readFileSync`. */
  readonly name: string
  /** By `performance.now()`. */
  readonly start: number
  readonly duration: number
}

/** Called after a long call, while its caller is on the stack below the function `below`. */
type SyncCallObserver = (call: SyncCall, below: Running) => void

/** The functions belong to the process, and so do their observers: a process may have several kernels. */
const observers = new Set<SyncCallObserver>()

/** Puts back the functions. */
let restore: (() => void) | undefined

/** Whether a function runs: some call others of them. */
let isRunning = false

/**
 * Passes long calls of the synchronous functions for files and processes to an observer, until the returned function is called.
 * A short call costs a fraction of a microsecond. Code that has imported the functions before is observed, too, except for
 * CommonJS modules that keep a function in a variable.
 */
export function watchSyncCalls(observer: SyncCallObserver): () => void {
  observers.add(observer)
  restore ??= patchAll()
  return () => {
    observers.delete(observer)
    if (observers.size > 0) return
    restore?.()
    restore = undefined
  }
}

function patchAll(): () => void {
  const restores = [...patch('fs', fs), ...patch('child_process', childProcess)]
  syncBuiltinESMExports()
  return () => {
    for (const restore of restores) restore()
    syncBuiltinESMExports()
  }
}

/** Replaces the synchronous functions of a module. */
function patch(prefix: string, module: object): (() => void)[] {
  return Object.keys(module).flatMap(key => {
    const original: unknown = Reflect.get(module, key)
    if (!key.endsWith('Sync') || !isFunction(original)) return []
    const observed = observe(`${prefix}.${key}`, original)
    Reflect.set(module, key, observed)
    return [
      () => {
        // Another library may have replaced it since.
        if (Reflect.get(module, key) === observed) Reflect.set(module, key, original)
      },
    ]
  })
}

function isFunction(value: unknown): value is Running {
  return typeof value === 'function'
}

function observe(name: string, original: Running): Running {
  function observed(this: unknown, ...values: never[]): unknown {
    if (isRunning) return Reflect.apply(original, this, values)
    isRunning = true
    const start = performance.now()
    try {
      return Reflect.apply(original, this, values)
    } finally {
      isRunning = false
      const duration = performance.now() - start
      if (duration >= leastTime) report({ name, start, duration }, observed)
    }
  }
  // Its name and length, and such as `realpathSync.native`.
  return Object.defineProperties(observed, Object.getOwnPropertyDescriptors(original))
}

/** Calls the observers. Their errors are dropped: an error would replace the result of the application's call. */
function report(call: SyncCall, below: Running): void {
  for (const observer of observers) {
    try {
      observer(call, below)
    } catch {
      // The application continues; the profile has a gap.
    }
  }
}
