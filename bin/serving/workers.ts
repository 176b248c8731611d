import cluster, { type Address, type Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { workerVariable } from '../../kernel/server/worker-number.ts'
import { sendTo, type ToMainProcess } from './child-processes.ts'

/** The workers that a main process starts. */
interface WorkerOptions {
  readonly count: number
  /** The path of the program that each worker runs. */
  readonly program: string
  readonly commandLine: readonly string[]
  /** The exit code of a worker after which no other worker could start either. */
  readonly finalCode: number
  /** Prints a message for people. */
  readonly report: (message: string) => void
  /** Called once, when all workers listen. */
  readonly onReady: (address: Address) => void
  /**
   * Resolves when the workers have to stop, with the signal that they get; with `retire` others serve in their place.
   */
  readonly ended: Promise<NodeJS.Signals | 'retire'>
}

/**
 * Milliseconds before an ended worker is replaced: at least, and at most. Each wait is twice the previous one, less the
 * time that the worker has lived.
 */
const firstWait = 100
const longestWait = 30_000

/** Milliseconds to stop, and to retire. A worker has shorter deadlines of its own, but not in an endless loop. */
const stopTime = 15_000
const retirementTime = 35_000

/**
 * Main process: serves with several workers that share a port, until `ended` resolves. A worker that ends is replaced.
 * SIGHUP replaces all of them, one after another, so that there is always one that serves. Messages of the supervisor
 * are passed on to each worker. Resolves with the exit code.
 */
export async function runWorkers(options: WorkerOptions): Promise<number> {
  cluster.setupPrimary({ exec: options.program, args: [...options.commandLine] })
  const workers = new WorkerGroup(options)
  const onHangUp = () => void workers.replaceAll()
  const onMessage = (message: ToMainProcess) => workers.send(message)
  process.on('SIGHUP', onHangUp).on('message', onMessage)
  const failed = once(workers, 'failed')
  workers.start()
  const { code, signal } = await Promise.race([
    failed.then(([code]) => ({ code: Number(code), signal: 'SIGTERM' as const })),
    options.ended.then(signal => ({ code: 0, signal })),
  ])
  process.off('SIGHUP', onHangUp).off('message', onMessage)
  await workers.stop(signal)
  return code
}

/**
 * Resolves when another process serves in the place of this one: a worker, or the next main process below a supervisor.
 */
export function untilRetired(): Promise<'retire'> {
  return new Promise(resolve =>
    process.on('message', (message: ToMainProcess) => message === 'retire' && resolve(message)),
  )
}

/**
 * Worker: closes its connection to the main process. Sockets that the main process has handed over too late go back to
 * it, and from there to another worker; if the worker just ended, they would be lost. Does nothing in the main process.
 */
export async function leaveMainProcess(): Promise<void> {
  const { worker } = cluster
  if (worker === undefined) return
  const left = once(worker, 'disconnect')
  worker.disconnect()
  await left
}

/** Emits `failed` with an exit code when a worker has ended with the final code. */
class WorkerGroup extends EventEmitter {
  readonly #options: WorkerOptions
  readonly #workers = new Map<Worker, number>()
  /** Workers that are stopped on purpose: they are not replaced when they end. */
  readonly #dismissed = new WeakSet<Worker>()
  readonly #listening = new WeakSet<Worker>()
  #wait = 0
  #isStopping = false
  #isReplacing = false
  #mustReplace = false

  constructor(options: WorkerOptions) {
    super()
    this.#options = options
  }

  start(): void {
    const { count, onReady } = this.#options
    let listening = 0
    cluster.on('listening', (_worker, address) => {
      listening++
      if (listening === count) onReady(address)
    })
    for (let number = 1; number <= count; number++) this.#fork(number, this.#replace(number))
  }

  send(message: ToMainProcess): void {
    for (const worker of this.#workers.keys()) sendTo(worker, message)
  }

  async replaceAll(): Promise<void> {
    this.#mustReplace = true
    if (this.#isReplacing) return
    this.#isReplacing = true
    // A second SIGHUP may follow a change that the first new workers have not read.
    while (this.#mustReplace && !this.#isStopping) {
      this.#mustReplace = false
      for (const [old, number] of [...this.#workers]) if (!this.#isStopping) await this.#succeed(old, number)
    }
    this.#isReplacing = false
  }

  async stop(signal: NodeJS.Signals | 'retire'): Promise<void> {
    this.#isStopping = true
    const end = (worker: Worker) => (signal === 'retire' ? this.#retire(worker) : this.#stop(worker, signal))
    await Promise.all([...this.#workers.keys()].map(end))
  }

  /** Starts a worker. `onEnd` is called when it has ended or could not be started, unless it was dismissed. */
  #fork(number: number, onEnd: OnEnd): Worker | undefined {
    const start = performance.now()
    const end = (reason: string, code?: number) => onEnd(reason, performance.now() - start, code)
    try {
      const worker = cluster.fork({ [workerVariable]: number })
      const onExit = (reason: string, code?: number) => {
        this.#workers.delete(worker)
        if (!this.#dismissed.has(worker)) end(reason, code)
      }
      worker.once('exit', (code, signal) => onExit(signal ?? `exit code ${code}`, code))
      worker.once('listening', () => this.#listening.add(worker))
      // A process that was never started emits no "exit".
      worker.on('error', error => worker.process.pid === undefined && onExit(error.message))
      this.#workers.set(worker, number)
      return worker
    } catch (error) {
      end((error as Error).message)
      return undefined
    }
  }

  /** Returns a function that starts another worker with this number. */
  #replace(number: number): OnEnd {
    return async (reason, age, code) => {
      if (code === this.#options.finalCode) {
        this.emit('failed', code)
        return
      }
      this.#wait = Math.min(Math.max(2 * this.#wait - age, firstWait), longestWait)
      this.#options.report(`A worker has ended (${reason}): another one starts in ${(this.#wait / 1000).toFixed(1)} s.`)
      await delay(this.#wait)
      if (!this.#isStopping) this.#fork(number, this.#replace(number))
    }
  }

  /** Replaces a worker by a new one. If the old one has ended meanwhile, it was replaced already. */
  async #succeed(old: Worker, number: number): Promise<void> {
    const successor = await this.#startSuccessor(number)
    if (successor === undefined) this.#options.report('A new worker has not started: the old one goes on.')
    else if (!this.#workers.has(old)) await this.#retire(successor)
    // A worker that is still starting receives no message yet.
    else await (this.#listening.has(old) ? this.#retire(old) : this.#stop(old))
  }

  /** Starts one more worker and waits until it listens. Resolves with `undefined` if it ends before. */
  #startSuccessor(number: number): Promise<Worker | undefined> {
    return new Promise(resolve => {
      let isListening = false
      const worker = this.#fork(number, (...end) => (isListening ? this.#replace(number)(...end) : resolve(undefined)))
      worker?.once('listening', () => {
        isListening = true
        resolve(worker)
      })
    })
  }

  async #stop(worker: Worker, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const end = this.#dismiss(worker)
    worker.process.kill(signal)
    await end(stopTime)
  }

  /** The worker has time, because another one serves in its place. */
  async #retire(worker: Worker): Promise<void> {
    const end = this.#dismiss(worker)
    sendTo(worker, 'retire')
    await end(retirementTime)
  }

  /** Stops to replace a worker. Returns a function that waits for its end and kills it after some milliseconds. */
  #dismiss(worker: Worker): (patience: number) => Promise<unknown> {
    this.#dismissed.add(worker)
    const end = new Promise(resolve => worker.once('exit', resolve))
    return async patience => {
      await Promise.race([end, delay(patience, undefined, { ref: false })])
      worker.process.kill('SIGKILL')
      return end
    }
  }
}

/** Receives why a worker has ended, its age in milliseconds, and its exit code if it has one. */
type OnEnd = (reason: string, age: number, code?: number) => void
