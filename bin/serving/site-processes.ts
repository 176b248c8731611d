import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { SourceProblem } from '../../kernel/bundle.ts'
import { packageDirectory } from '../../lib/package.ts'
import { type FromMainProcess, forkWithSocket, sendTo, type ToMainProcess } from './child-processes.ts'

/**
 * Milliseconds from a signal until the process is killed: it has shorter deadlines of its own, but
 * not in an endless loop. And from the start of a process until requests no longer wait for it.
 */
export type ProcessTimes = Readonly<Record<'SIGINT' | 'SIGTERM' | 'start', number>>

export const defaultTimes: ProcessTimes = { SIGINT: 5_000, SIGTERM: 15_000, start: 10_000 }

/** Milliseconds that a process may take until it takes no new requests. */
const patience = 1_000

/** The end of a process. */
export interface ProcessEnd {
  readonly code: number | null
  /** The reason of the end for a message: the signal or the exit code. */
  readonly reason: string
}

/** The end of a process that has not served. */
interface FailedStart extends ProcessEnd {
  /** By `Date.now()`. */
  readonly startedAt: number
  readonly problems: readonly SourceProblem[]
}

/** The parameters of {@link SiteProcesses}. */
interface SiteProcessesOptions {
  /** The first parameters of each process. */
  readonly parameters: readonly string[]
  /** The socket that the processes share, if the system can share one. */
  readonly socket: number | undefined
  readonly times: ProcessTimes
  /** Whether two processes may run at once: not without a shared socket, nor with a debugger, which needs a port. */
  readonly mayOverlap: boolean
  /** Called when a process is about to listen on the shared socket. */
  readonly onReady: () => Promise<void> | undefined
  /** Called when a process has printed the texts that are printed once. */
  readonly onWarned: () => void
  /** Called when a process that served has ended by itself, after these milliseconds, and no other one is starting. */
  readonly onCrash: (end: ProcessEnd, age: number) => void
}

/**
 * The main processes below a supervisor: the one that serves, one that starts in its place, and those
 * that answer their last requests. All share one socket: when the next process is ready, the previous
 * one stops to accept, and connections wait in the queue of the system until the next one listens.
 */
export class SiteProcesses {
  readonly #options: SiteProcessesOptions
  /** The ports on which the servers of a process listen: bundles may have ports of their own. */
  readonly #ports = new WeakMap<ChildProcess, Set<number | string>>()
  /** Processes that are asked to end, and their ends. */
  readonly #ending = new Map<ChildProcess, Promise<void>>()
  #serving: ChildProcess | undefined
  #starting: ChildProcess | undefined
  /** The process of the next start, and when it was started itself. */
  #next: { readonly child: ChildProcess; readonly since: number } | undefined
  /** The number of starts: only the last one counts. */
  #starts = 0

  constructor(options: SiteProcessesOptions) {
    this.#options = options
  }

  /** Whether a process serves or starts. */
  get isRunning(): boolean {
    return this.#serving !== undefined || this.#starting !== undefined
  }

  /** Whether a process serves. */
  get isServing(): boolean {
    return this.#serving !== undefined
  }

  /** Sends a message to the running processes. */
  send(message: ToMainProcess): void {
    for (const child of [this.#serving, this.#starting]) if (child !== undefined) sendTo(child, message)
  }

  /**
   * Starts a process, which takes the place of the running one. Resolves when it serves, or with
   * its end. The running process goes on if the new one does not start. A later call replaces this
   * one, which then resolves with `replaced`: its sources are old.
   */
  async start(parameters: readonly string[]): Promise<'serves' | 'replaced' | FailedStart> {
    const start = ++this.#starts
    void this.#stop(this.#starting, 'SIGINT')
    if (!this.#options.mayOverlap) await this.#stopAll('SIGINT')
    if (start !== this.#starts) return 'replaced'
    const result = await this.#start(parameters)
    if (result !== 'needs the port of the running process') return result
    await this.#stopAll('SIGINT')
    return start === this.#starts ? this.start(parameters) : 'replaced'
  }

  /** Starts a process that loads the framework, and waits for the next start. */
  prepare(): void {
    const { mayOverlap } = this.#options
    if (mayOverlap && this.isServing && this.#starting === undefined)
      this.#next ??= { child: this.#fork(), since: Date.now() }
  }

  /**
   * Ends all processes. With SIGINT they do not wait for open connections. The one that serves is the last to have the
   * socket: the system takes connections as long as any process has it, and would reset those that no process accepts.
   */
  async stop(signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    this.#starts++
    for (const child of this.#ending.keys()) child.kill(signal)
    await Promise.all([this.#endNext(), this.#stop(this.#starting, 'SIGINT')])
    await this.#stopAll(signal)
  }

  #start(
    parameters: readonly string[],
  ): Promise<'serves' | 'replaced' | 'needs the port of the running process' | FailedStart> {
    const startedAt = Date.now()
    let servesSince = 0
    const ports = new Set<number | string>()
    const taken = new Set<number | string>()
    let problems: readonly SourceProblem[] = []
    const child = this.#takeNext() ?? this.#fork()
    sendTo(child, { options: parameters })
    this.#starting = child
    this.#ports.set(child, ports)
    return new Promise(resolve => {
      child.on('message', (message: FromMainProcess) => {
        if (message === 'warned') this.#options.onWarned()
        else if (typeof message === 'object') {
          if ('listensOn' in message) ports.add(message.listensOn)
          else if ('taken' in message) taken.add(message.taken)
          else problems = message.problems
        }
        // Its message may arrive when a later start has replaced it.
        else if (child !== this.#starting) return
        else if (message === 'ready') void this.#takeOver(child)
        else if (message === 'listening') {
          servesSince = performance.now()
          // With workers the next process is ready only when they listen.
          void this.#retire(this.#serving)
          this.#starting = undefined
          this.#serving = child
          resolve('serves')
        }
      })
      child.once('exit', (code, signal) => {
        const end = { code, reason: signal ?? `exit code ${code}` }
        if (this.#ending.has(child)) resolve('replaced')
        else if (child === this.#serving) {
          this.#serving = undefined
          if (this.#starting === undefined) this.#options.onCrash(end, performance.now() - servesSince)
        } else {
          this.#starting = undefined
          if (this.#hasOneOf(taken)) resolve('needs the port of the running process')
          else resolve({ ...end, startedAt, problems })
        }
      })
    })
  }

  /** Whether one of these ports is free when the running processes have ended, and not of another program. */
  #hasOneOf(ports: ReadonlySet<number | string>): boolean {
    const running = [this.#serving, ...this.#ending.keys()].filter(child => child !== undefined)
    return running.some(child => [...ports].some(port => this.#ports.get(child)?.has(port)))
  }

  #fork(): ChildProcess {
    return forkWithSocket('next-process.js', this.#options.parameters, this.#options.socket)
  }

  /** The process that waits for a start, if it still runs and has loaded the present package. */
  #takeNext(): ChildProcess | undefined {
    const next = this.#next
    this.#next = undefined
    if (next === undefined || !next.child.connected) return undefined
    if (!hasPackageChanged(next.since)) return next.child
    next.child.kill()
    return undefined
  }

  /** The process that waits for a start has nothing to finish. */
  async #endNext(): Promise<void> {
    const child = this.#next?.child
    this.#next = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Lets a process listen in the place of the one that serves. */
  async #takeOver(child: ChildProcess): Promise<void> {
    await this.#retire(this.#serving)
    await this.#options.onReady()
    sendTo(child, 'go')
  }

  async #stopAll(signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    void this.#stop(this.#serving, signal)
    void this.#stop(this.#starting, signal)
    await Promise.all(this.#ending.values())
  }

  /**
   * Ends the process that serves, after its requests. Resolves when it takes no new requests, or
   * does not answer because it is busy.
   */
  async #retire(child: ChildProcess | undefined): Promise<void> {
    if (child === undefined) return
    const retired = new Promise<void>(resolve =>
      child.on('message', (message: FromMainProcess) => message === 'retired' && resolve()),
    )
    sendTo(child, 'retire')
    await Promise.race([retired, this.#dismiss(child, 'SIGTERM'), delay(patience)])
  }

  async #stop(child: ChildProcess | undefined, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    if (child === undefined) return
    child.kill(signal)
    await this.#dismiss(child, signal)
  }

  /**
   * Waits for the end of a process that serves or starts, and kills it after the time of this
   * signal. Its end is no crash.
   */
  #dismiss(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    if (child === this.#serving) this.#serving = undefined
    if (child === this.#starting) this.#starting = undefined
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#options.times[signal])
    const ended = once(child, 'exit').then(() => {
      clearTimeout(timer)
      this.#ending.delete(child)
    })
    this.#ending.set(child, ended)
    return ended
  }
}

/** Whether the package was installed or compiled after a time. Installed files may have any time of change. */
function hasPackageChanged(since: number): boolean {
  const files = ['package.json', 'dist/.tsbuildinfo'].map(name => path.join(packageDirectory, name))
  return files.some(file => Number(statSync(file, { throwIfNoEntry: false })?.ctimeMs) >= since)
}
