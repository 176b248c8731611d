import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { Pass } from './pass.ts'

/** An entry of the type `gc`; the types of node say of none what its details are. */
interface GcRun extends PerformanceEntry {
  readonly detail: NodeGCPerformanceDetail
}

const kinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak callbacks',
}

/**
 * Notes the runs of the garbage collector on the passes that it has interrupted. Node tells of a run up to two turns of
 * the event loop later, when a short request is over, but not kept yet.
 */
export class GcWatch {
  readonly #openPasses: () => Iterable<Pass>

  /** Finds the main requests that are not kept yet. */
  constructor(openPasses: () => Iterable<Pass>) {
    this.#openPasses = openPasses
  }

  /** Begins to listen, until the returned function is called; the process is not kept alive by it. */
  start(): () => void {
    const observer = new PerformanceObserver(list => this.#take(list.getEntries() as GcRun[]))
    observer.observe({ entryTypes: ['gc'] })
    return () => observer.disconnect()
  }

  #take(runs: readonly GcRun[]): void {
    for (const pass of this.#openPasses()) for (const run of runs) note(pass, run)
  }
}

function note({ start, usage }: Pass, { detail, duration, startTime }: GcRun): void {
  if (usage === undefined || startTime + duration < start || startTime > usage.end) return
  usage.addPause(startTime - start, duration, kinds[detail.kind])
}
