import { setImmediate as nextTurn } from 'node:timers/promises'

/** How a queue commits, and how much may wait. */
export interface CommitQueueOptions<item> {
  /** The length of all that is not committed yet. */
  readonly limit: number
  /** Writes a group; gives whether the disk took it. Must not reject. */
  readonly commit: (group: readonly item[]) => Promise<boolean>
}

/** Milliseconds between two groups: at load, a write is shared by all that came meanwhile. */
const rest = 20

/** Milliseconds until the disk is tried again after it took nothing. */
const restAfterFailure = 1000

/**
 * Commits what is pushed in groups: at once when nothing was written just before, and otherwise together with what came
 * meanwhile. It never holds more than its limit, and keeps a process running only as long as something waits.
 */
export class CommitQueue<item extends { readonly length: number }> {
  readonly #options: CommitQueueOptions<item>
  #waiting: item[] = []
  /** What is being committed. */
  #group: readonly item[] = []
  #length = 0
  /** How many were pushed, how many are no longer waiting, and how many are settled, since the beginning. */
  #pushed = 0
  #taken = 0
  #settled = 0
  #flushes: { readonly until: number; readonly resolve: () => void }[] = []
  #isRunning = false
  #timer: NodeJS.Timeout | undefined
  #endRest: (() => void) | undefined

  constructor(options: CommitQueueOptions<item>) {
    this.#options = options
  }

  /** The length of all that is not committed yet. */
  get length(): number {
    return this.#length
  }

  /** Adds an item; false when there is no room for it. */
  push(item: item): boolean {
    if (this.#length + item.length > this.#options.limit) return false
    this.#waiting.push(item)
    this.#length += item.length
    this.#pushed++
    this.#timer?.ref()
    if (!this.#isRunning) void this.#run()
    return true
  }

  /** Resolves when everything pushed so far is settled; it does not rest before that. */
  async flush(): Promise<void> {
    if (this.#settled === this.#pushed) return
    this.#endRest?.()
    await new Promise<void>(resolve => this.#flushes.push({ until: this.#pushed, resolve }))
  }

  /** Takes what waits off the queue; it counts as settled together with what is being committed. */
  takeWaiting(): item[] {
    const taken = this.#waiting
    this.#waiting = []
    this.#taken += taken.length
    for (const { length } of taken) this.#length -= length
    if (this.#group.length === 0) this.#settle()
    return taken
  }

  /** Takes what waits off the queue, and gives what is being committed with it: all of it counts as settled. */
  takeAll(): item[] {
    const all = [...this.#group, ...this.takeWaiting()]
    this.#settle()
    return all
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // What is pushed in the same turn goes along.
    await nextTurn()
    while (this.#waiting.length > 0) {
      this.#group = this.#takeGroup()
      const isWritten = await this.#options.commit(this.#group)
      for (const { length } of this.#group) this.#length -= length
      this.#group = []
      this.#settle()
      await this.#rest(isWritten ? rest : restAfterFailure)
    }
    this.#isRunning = false
  }

  #takeGroup(): item[] {
    const group = this.#waiting
    this.#waiting = []
    this.#taken += group.length
    return group
  }

  #settle(): void {
    this.#settled = this.#taken
    this.#flushes = this.#flushes.filter(({ until, resolve }) => {
      if (until <= this.#settled) resolve()
      return until > this.#settled
    })
  }

  async #rest(milliseconds: number): Promise<void> {
    if (this.#flushes.length > 0) return
    await new Promise<void>(resolve => {
      this.#endRest = resolve
      this.#timer = setTimeout(resolve, milliseconds)
      if (this.#waiting.length === 0) this.#timer.unref()
    })
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#endRest = undefined
  }
}
