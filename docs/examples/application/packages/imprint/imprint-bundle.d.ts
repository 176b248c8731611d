import type { Bundle } from 'sinfonietta'

/** Creates the bundle with the page `/imprint`. */
export declare function createImprintBundle(owner: string): Bundle
