import v8 from 'node:v8'

/**
 * Keeps V8 from guessing which objects will live long. It takes objects that a request holds for some milliseconds for
 * long-lived ones and allocates the next ones in the old generation, where only a full collection frees them and the
 * pages that they refer to: a third of the cost of a page. The benchmarks call this function, too.
 */
export function tuneGarbageCollector(): void {
  v8.setFlagsFromString('--no-allocation-site-pretenuring')
}
