import cluster, { type Address, type Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { untilSignal } from './signals.ts'

/** What a primary process is told of its workers. */
export interface WorkerOptions {
  readonly count: number
  /** The program that each runs. */
  readonly exec: string
  readonly commandLine: readonly string[]
  /** The exit code of a worker that says: another one would end like this as well. */
  readonly hopeless: number
  /** Tells people something. */
  readonly tell: (message: string) => void
  /** Is told once that all of them listen. */
  readonly onReady: (address: Address) => void
}

/**
 * Milliseconds before a worker that has ended is replaced: at least, and at most. Each wait is twice the one before, less
 * the time that the worker has lived.
 */
const firstWait = 100
const longestWait = 30_000

/** Milliseconds to stop, and to retire. A worker sets itself shorter deadlines; an endless loop knows none. */
const stopTime = 15_000
const retirementTime = 35_000

/**
 * Serves with several processes that share a port, until SIGTERM or SIGINT. A worker that ends is replaced; SIGHUP
 * replaces all of them, one after another, and there is always one that serves. Gives the exit code.
 */
export async function superviseWorkers(options: WorkerOptions): Promise<number> {
  cluster.setupPrimary({ exec: options.exec, args: [...options.commandLine] })
  const workers = new WorkerGroup(options)
  const onHangUp = () => void workers.replaceAll()
  const onMessage = (message: string) => workers.send(message)
  process.on('SIGHUP', onHangUp).on('message', onMessage)
  const hopeless = once(workers, 'hopeless')
  workers.start()
  const code = await Promise.race([hopeless.then(([code]) => Number(code)), untilSignal().then(() => 0)])
  process.off('SIGHUP', onHangUp).off('message', onMessage)
  await workers.stop()
  return code
}

/** Emits `hopeless`, with an exit code, when there is no use in starting others. */
class WorkerGroup extends EventEmitter {
  readonly #options: WorkerOptions
  readonly #workers = new Set<Worker>()
  /** Those that nobody replaces when they end. */
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
    for (let index = 0; index < count; index++) this.#fork(this.#replace)
  }

  send(message: string): void {
    // One that is just ending need not be told.
    for (const worker of this.#workers) worker.send(message, () => undefined)
  }

  async replaceAll(): Promise<void> {
    this.#mustReplace = true
    if (this.#isReplacing) return
    this.#isReplacing = true
    // Whoever asks meanwhile has changed something that the first new ones have not seen.
    while (this.#mustReplace && !this.#isStopping) {
      this.#mustReplace = false
      for (const old of [...this.#workers]) if (!this.#isStopping) await this.#succeed(old)
    }
    this.#isReplacing = false
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#workers].map(worker => this.#stop(worker)))
  }

  /** Starts a worker; `onEnd` is told when it has ended, or when the system has started none, unless it was dismissed. */
  #fork(onEnd: OnEnd): Worker | undefined {
    const start = performance.now()
    const tell = (reason: string, code?: number) => onEnd(reason, performance.now() - start, code)
    try {
      const worker = cluster.fork()
      const end = (reason: string, code?: number) => {
        this.#workers.delete(worker)
        if (!this.#dismissed.has(worker)) tell(reason, code)
      }
      worker.once('exit', (code, signal) => end(signal ?? `exit code ${code}`, code))
      worker.once('listening', () => this.#listening.add(worker))
      // Of a process that was never started there is no exit.
      worker.on('error', error => worker.process.pid === undefined && end(error.message))
      this.#workers.add(worker)
      return worker
    } catch (error) {
      tell((error as Error).message)
      return undefined
    }
  }

  readonly #replace: OnEnd = async (reason, age, code) => {
    if (code === this.#options.hopeless) {
      this.emit('hopeless', code)
      return
    }
    this.#wait = Math.min(Math.max(2 * this.#wait - age, firstWait), longestWait)
    this.#options.tell(`A worker has ended (${reason}): another one starts in ${(this.#wait / 1000).toFixed(1)} s.`)
    await delay(this.#wait)
    if (!this.#isStopping) this.#fork(this.#replace)
  }

  /** Puts a new worker in the place of one; of one that has ended meanwhile, another one has taken the place already. */
  async #succeed(old: Worker): Promise<void> {
    const successor = await this.#startSuccessor()
    if (successor === undefined) this.#options.tell('A new worker has not started: the old one goes on.')
    else if (!this.#workers.has(old)) await this.#retire(successor)
    // One that is just starting hears no message yet.
    else await (this.#listening.has(old) ? this.#retire(old) : this.#stop(old))
  }

  /** Starts one more worker, and waits until it listens. Should it not start, those that are there go on. */
  #startSuccessor(): Promise<Worker | undefined> {
    return new Promise(resolve => {
      let isListening = false
      const worker = this.#fork((...end) => (isListening ? this.#replace(...end) : resolve(undefined)))
      worker?.once('listening', () => {
        isListening = true
        resolve(worker)
      })
    })
  }

  async #stop(worker: Worker): Promise<void> {
    const end = this.#dismiss(worker)
    worker.process.kill('SIGTERM')
    await end(stopTime)
  }

  /** The worker has time, for another one serves in its place. */
  async #retire(worker: Worker): Promise<void> {
    const end = this.#dismiss(worker)
    worker.send(retire, () => undefined)
    await end(retirementTime)
  }

  /** Nobody replaces the worker any more. Gives what waits for its end, and brings it about after some milliseconds. */
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

/** Is told why a worker has ended, how many milliseconds it has lived, and its exit code, should it have one. */
type OnEnd = (reason: string, age: number, code?: number) => void

/** What the primary process sends to a worker when another one serves in its place. */
const retire = 'retire'

/** Resolves when another worker serves in the place of this one; never where there are no workers. */
export function untilRetired(): Promise<void> {
  return new Promise(resolve => {
    if (cluster.isWorker) process.on('message', message => message === retire && resolve())
  })
}

/**
 * Ends the connection to the primary process, should there be one. What it has handed over before it knew that this
 * worker accepts nothing more goes back to it, and to another worker; with a process that just ends it would be lost.
 */
export async function leavePrimary(): Promise<void> {
  const { worker } = cluster
  if (worker === undefined) return
  const left = once(worker, 'disconnect')
  worker.disconnect()
  await left
}
