import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import type { Bundle } from './bundle.ts'
import type { Collector } from './collector.ts'
import { KERNEL_BUNDLE_FAILED, KERNEL_COLLECTOR_TAKEN } from './errors.ts'

/** A method of a bundle that the kernel calls. */
type BundleStep = 'decorate' | 'register' | 'close'

/** The error of a step that failed: it names the bundle, and has what was thrown as its cause. */
export function failedStep({ name }: Bundle, step: BundleStep, cause: unknown): Error {
  const reason = cause instanceof HttpError ? cause.message : describeError(cause)
  return new KERNEL_BUNDLE_FAILED([name, step, reason], { cause })
}

/** Refuses collectors of which two have one name: only one of them would be seen. `reserved` are the profiler's own. */
export class CollectorNames {
  readonly #bundles = new Map<Collector, string>()

  /** Remembers which bundle added those of the collectors that are new. */
  note(collectors: readonly Collector[], bundle: string): void {
    for (const collector of collectors) if (!this.#bundles.has(collector)) this.#bundles.set(collector, bundle)
  }

  /** @throws KERNEL_COLLECTOR_TAKEN */
  check(collectors: readonly Collector[], reserved: readonly string[]): void {
    const taken = new Map(reserved.map(name => [name, 'the profiler itself']))
    for (const collector of collectors) {
      const bundle = String(this.#bundles.get(collector))
      const other = taken.get(collector.name)
      if (other !== undefined) throw new KERNEL_COLLECTOR_TAKEN([bundle, collector.name, other])
      taken.set(collector.name, `the bundle "${bundle}"`)
    }
  }
}
