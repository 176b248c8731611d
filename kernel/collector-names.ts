import { KERNEL_COLLECTOR_TAKEN } from './errors.ts'
import type { Collector } from './profiler-contract.ts'

/** Refuses two collectors with the same name: the profiler would show only one of them. */
export class CollectorNames {
  readonly #bundles = new Map<Collector, string>()

  /** Remembers which bundle added the collectors that are new in the list. */
  note(collectors: readonly Collector[], bundle: string): void {
    for (const collector of collectors) if (!this.#bundles.has(collector)) this.#bundles.set(collector, bundle)
  }

  /** `reserved` are the names of the profiler itself. @throws KERNEL_COLLECTOR_TAKEN */
  check(collectors: readonly Collector[], reserved: readonly string[]): void {
    const taken = new Map(reserved.map(name => [name, 'the profiler itself']))
    for (const collector of collectors) {
      const bundle = this.#bundles.get(collector) ?? ''
      const other = taken.get(collector.name)
      if (other !== undefined) throw new KERNEL_COLLECTOR_TAKEN([bundle, collector.name, other])
      taken.set(collector.name, `the bundle "${bundle}"`)
    }
  }
}
