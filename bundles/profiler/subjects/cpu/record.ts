import { mkdirSync, unlinkSync, watch } from 'node:fs'
import path from 'node:path'
import { namedFunctionOf } from '../../../../kernel/controller.ts'
import { messageOfError } from '../../../../lib/errors/flat-error.ts'
import { replaceFileNow } from '../../../../lib/folders.ts'
import { guard } from '../../../../lib/guard.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { readTime, startTimer, stopTimer } from '../../../../lib/own-globals.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { suggestNames } from '../../../../lib/text/mistakes.ts'
import { isAmount, isObject, parseJsonObject } from '../../profile/json.ts'
import { shownRoutes } from '../../profile/links.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { Profiler, SampleStart } from '../../record/profiler.ts'
import type { RecordedApplication, RecordedSubject } from '../../record/recorded-subject.ts'
import { TracePart } from '../../record/trace.ts'
import { directoryMode, readFileNow } from '../../store/file-system.ts'
import { CpuRecording, type CpuSampler } from './cpu-sampler.ts'
import { summarizeSamples } from './summarize-samples.ts'

/** CPU profiles of sampled requests. `CpuProfiler` takes the samples. */
export const cpuSubject: RecordedSubject = {
  createCollectors: app => [createCpuCollector(app)],
}

/** The samples of a trace. */
export const cpuPart: TracePart<{ recording?: CpuRecording }> = new TracePart(() => ({}))

/** Collects the CPU profile of a sampled request. */
function createCpuCollector({
  directory,
  redactor,
  routes,
}: Pick<RecordedApplication, 'directory' | 'redactor' | 'routes'>): CollectorOf<'cpu'> {
  const sources = new SourceExcerpts(directory, redactor)
  return {
    name: 'cpu',
    collect(trace) {
      const cpu = cpuPart.find(trace)?.recording
      if (cpu === undefined) return undefined
      const sampled = cpu.stop()
      const names = cpu.findNames([...routes].flatMap(({ controller }) => namedFunctionOf(controller)))
      return summarizeSamples(sampled, { directory, names, redactor, sources })
    },
  }
}

interface CpuProfilerServices {
  readonly profiler: Pick<Profiler, 'sampleWith'>
  /** Returns the name of the route that a request will have. Absent if routes are not known before. */
  readonly findRoute?: (request: Request) => string | undefined
  readonly file: ArmFile
  readonly logger: Logger
  readonly sampler: CpuSampler
  /** The longest time of a sampled request, in milliseconds; by default ten seconds. */
  readonly limit?: number
}

/**
 * Samples one request on demand, and removes the order. Without an order, the profiler does not call this object. There
 * is one order in the application: the process that removes the file samples the request.
 */
export class CpuProfiler {
  readonly #services: CpuProfilerServices
  #armed: Arming | undefined
  #running: CpuRecording | undefined
  #last: string | undefined
  #expiry: NodeJS.Timeout | undefined
  #unregister: (() => void) | undefined
  #unwatch: (() => void) | undefined

  constructor(services: CpuProfilerServices) {
    this.#services = services
  }

  /** The current order. */
  get armed(): Arming | undefined {
    return this.#armed
  }

  /** The token of the last request that this process sampled. */
  get last(): string | undefined {
    return this.#last
  }

  /** Orders a sample, in place of the order before. @throws when the disk does not allow it */
  arm(target: CpuTarget): void {
    const arming = createArming(target, readTime())
    this.#services.file.write(arming)
    this.#set(arming)
  }

  /** Withdraws the order. */
  disarm(): void {
    this.#services.file.remove()
    this.#set(undefined)
  }

  /** Follows the file that other processes write to request a sample, until this profiler is closed. */
  listen(): void {
    const { file, logger } = this.#services
    const follow = guard('the CPU profile', () => this.#set(file.read()))
    try {
      this.#unwatch = file.watch(follow)
      follow()
    } catch (error) {
      logger.warning('The console cannot request CPU profiles: {reason}.', { reason: messageOfError(error) })
    }
  }

  /** Stops sampling and following. */
  close(): void {
    this.#unwatch?.()
    this.#set(undefined)
    this.#running?.stop()
  }

  #set(arming: Arming | undefined): void {
    stopTimer(this.#expiry)
    const left = arming === undefined ? 0 : arming.until - readTime()
    this.#armed = left > 0 ? arming : undefined
    // A timer for a longer time would fire at once.
    if (left > 0)
      this.#expiry = startTimer(
        guard('the CPU profile', () => this.disarm()),
        Math.min(left, 2 ** 31 - 1),
      ).unref()
    this.#update()
  }

  /** The profiler calls this object only while there is an order or a sampled request. */
  #update(): void {
    if (this.#armed === undefined && this.#running === undefined) {
      this.#unregister?.()
      this.#unregister = undefined
    } else this.#unregister ??= this.#services.profiler.sampleWith((...begun) => this.#startSample(...begun))
  }

  #startSample(request: Request, token: string, others: number): ReturnType<SampleStart> {
    if (this.#running !== undefined) {
      this.#running.noteOther()
      return undefined
    }
    if (this.#armed === undefined || !this.#isWanted(request, this.#armed.target)) return undefined
    const { file, limit = 10_000, sampler } = this.#services
    const isOurs = file.remove()
    this.#set(undefined)
    if (!isOurs) return undefined
    const onEnd = () => {
      this.#running = undefined
      this.#update()
    }
    const running = new CpuRecording(sampler, { others, limit, onEnd })
    this.#running = running
    this.#last = token
    this.#update()
    return trace => {
      cpuPart.of(trace).recording = running
    }
  }

  #isWanted(request: Request, target: CpuTarget): boolean {
    const { method, path, problem, rawPath } = request
    if (problem !== undefined) return false
    if ('path' in target) return method === target.method && (path === target.path || rawPath === target.path)
    return this.#services.findRoute?.(request) === target.route
  }
}

/** Which request is sampled: the next request of a route, or of a method and a path. */
export type CpuTarget = { readonly route: string } | { readonly method: string; readonly path: string }

/** An order to sample a request. */
export interface Arming {
  readonly target: CpuTarget
  /** Milliseconds since 1970; later requests are not sampled. */
  readonly until: number
}

/** Milliseconds that an order lasts: a forgotten order must not surprise anyone later. */
const lifetime = 5 * 60_000

/** Makes an order. */
export function createArming(target: CpuTarget, now: number): Arming {
  return { target, until: now + lifetime }
}

/** Parses the text of the file; `undefined` when it is no order. */
export function parseArming(text: string): Arming | undefined {
  const { target, until } = parseJsonObject(text) ?? {}
  if (!isObject(target) || !isAmount(until)) return undefined
  const { method, path, route } = target
  if (isName(route)) return { target: { route }, until }
  return isName(method) && isName(path) ? { target: { method, path }, until } : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Names the request of an order: `the next request of the route "booth"`. */
export function describeTarget(target: CpuTarget): string {
  return 'route' in target
    ? `the next request of the route "${target.route}"`
    : `the next ${target.method} ${target.path}`
}

/**
 * The file by which all processes of a project (workers, the console) share the order. It is not read for each request:
 * its directory is watched, in which nothing else changes.
 */
export class ArmFile {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The order; `undefined` without one. */
  read(): Arming | undefined {
    return parseArming(readFileNow(this.#file) ?? '')
  }

  /** Replaces the order. @throws when the disk does not allow it */
  write(arming: Arming): void {
    replaceFileNow(this.#file, JSON.stringify(arming))
  }

  /** Removes the order; false when another process did so first: only one process samples the request. */
  remove(): boolean {
    try {
      unlinkSync(this.#file)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  /**
   * Calls the listener when the order may have changed, until the returned function is called. @throws when the disk
   * does not allow it
   */
  watch(onChange: () => void): () => void {
    const directory = path.dirname(this.#file)
    mkdirSync(directory, { recursive: true, mode: directoryMode })
    const watcher = watch(directory, { persistent: false }, (_event, file) => {
      if (file === path.basename(this.#file)) onChange()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  }
}

/** A request to sample, as a person writes it. */
export interface WantedTarget {
  readonly route?: string | undefined
  readonly path?: string | undefined
  /** GET by default. */
  readonly method?: string | undefined
}

/** Finds the target; or a sentence that says what is wrong. */
export function readTarget({ method, path, route }: WantedTarget, routes: Iterable<Route>): CpuTarget | string {
  if (route) {
    const names = shownRoutes(routes).map(({ name }) => name)
    return names.includes(route) ? { route } : `There is no route "${route}"${suggestNames(route, names)}.`
  }
  if (!path) return 'Name a route or a path.'
  const name = (method || 'GET').toUpperCase()
  if (!knownMethods.some(known => known === name)) return `There is no method "${name}".`
  // The query is not compared.
  const [asked = ''] = path.split(/[?#]/)
  return asked.startsWith('/') ? { method: name, path: asked } : `A path begins with a slash, unlike "${path}".`
}
