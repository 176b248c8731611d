import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { Pass } from './pass.ts'

/** What is told of the garbage collector's runs. */
export interface GcWatchServices {
  /** The main requests that are handled now. */
  readonly inFlight: () => Iterable<Pass>
  /** Keeps a profile anew: more is known now. */
  readonly amend: (pass: Pass) => void
}

/** An entry of the type `gc`; the types of node say of none what its details are. */
interface GcRun extends PerformanceEntry {
  readonly detail: NodeGCPerformanceDetail
}

/** A pass that is over, at `performance.now()`. */
interface Ended {
  readonly pass: Pass
  readonly end: number
}

const endedLimit = 16

const kinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak callbacks',
}

/**
 * Notes the runs of the garbage collector on the passes that it has interrupted. Node tells of a run two turns of the
 * event loop later, when a short request is over and its profile is kept: then the profile is amended.
 */
export class GcWatch {
  readonly #services: GcWatchServices
  readonly #observer: PerformanceObserver
  /** The last passes that are over and may have been interrupted. */
  #ended: Ended[] = []

  constructor(services: GcWatchServices) {
    this.#services = services
    this.#observer = new PerformanceObserver(list => this.#take(list.getEntries() as GcRun[]))
  }

  /** Begins to listen, until the returned function is called; the process is not kept alive by it. */
  start(): () => void {
    this.#observer.observe({ entryTypes: ['gc'] })
    return () => this.#observer.disconnect()
  }

  /** Takes note that a pass is over. */
  end(pass: Pass): void {
    this.#ended.push({ pass, end: performance.now() })
    if (this.#ended.length > endedLimit) this.#ended.shift()
  }

  #take(runs: readonly GcRun[]): void {
    const amended = new Set<Pass>()
    for (const run of runs) {
      for (const pass of this.#services.inFlight()) note(pass, run)
      for (const { pass, end } of this.#ended) {
        if (end > run.startTime && note(pass, run)) amended.add(pass)
      }
      // Runs are told in their order: what was over before this one has met them all, and nothing here holds it longer.
      this.#ended = this.#ended.filter(({ end }) => end > run.startTime)
    }
    for (const pass of amended) this.#services.amend(pass)
  }
}

function note({ start, usage }: Pass, { detail, duration, startTime }: GcRun): boolean {
  if (usage === undefined || startTime + duration < start) return false
  usage.addPause(startTime - start, duration, kinds[detail.kind])
  return true
}
