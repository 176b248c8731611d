import type { ShownProfile } from '../insight/relatives.ts'

/**
 * A claim about a request, to be held against its record. `ProfileExpectation.satisfied` takes those of your own: for what
 * a collector of your own has told, say.
 */
export interface ProfileCheck {
  /** Completes "Expected the request to …": `render the template "cart"`. */
  readonly claim: string
  /** The panel that shows what it is about; the whole record is shown unless told else. */
  readonly panel?: string
  /** Looks whether it is so. */
  examine(subject: ShownProfile): Examination
}

/** What came of a check. */
export interface Examination {
  /** Whether the claim is true. */
  readonly holds: boolean
  /** What there should be, and what there is: test runners show the difference. */
  readonly expected: unknown
  readonly actual: unknown
  /** A clause that tells what was found: `it rendered cart, layout`. */
  readonly found: string
}
