import { findGap, type Gap } from './loop-activity.ts'
import type { Pass } from './pass.ts'

/** Milliseconds between two looks. */
const interval = 20

/** Milliseconds; a look that comes so much too late is not worth a note. */
const leastBlock = 50

/**
 * Notes on the requests in flight when the event loop was blocked, and by which of them: a timer that comes late says that
 * it was, and whoever did something first afterwards was at work. CPU time tells it from a machine that was asleep or
 * busy with other things.
 */
export class LoopWatch {
  readonly #openPasses: () => Iterable<Pass>
  #timer: NodeJS.Timeout | undefined
  #looked = 0
  #cpu = 0

  /** Finds the main requests that are not kept yet. */
  constructor(openPasses: () => Iterable<Pass>) {
    this.#openPasses = openPasses
  }

  /** Begins to look, unless it does; ends by itself when no request is in flight. */
  readonly start = (): void => {
    if (this.#timer !== undefined) return
    this.#remember()
    // For its own sake no process goes on.
    this.#timer = setInterval(() => this.#look(), interval).unref()
  }

  /** Ends at once. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const passes = [...this.#openPasses()]
    if (passes.length === 0) {
      this.stop()
      return
    }
    const due = this.#looked + interval
    const before = this.#cpu
    this.#remember()
    // Mostly it is not late.
    if (this.#looked - due < leastBlock) return
    const gap = findGap(due, this.#looked)
    for (const pass of passes) note(pass, gap, this.#cpu - before)
  }

  #remember(): void {
    const { system, user } = process.cpuUsage()
    this.#cpu = (user + system) / 1000
    this.#looked = performance.now()
  }
}

/** As far as the request was in flight. */
function note({ start, usage }: Pass, gap: Gap, cpu: number): void {
  if (usage === undefined) return
  const from = Math.max(start, gap.start)
  const duration = Math.min(usage.end, gap.end) - from
  if (duration >= leastBlock) usage.addBlock(from - start, duration, Math.min(cpu, duration), gap.by)
}
