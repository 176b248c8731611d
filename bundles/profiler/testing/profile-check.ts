import type { ShownProfile } from '../insight/relatives.ts'

/**
 * A claim about a request, which is checked against its profile. `ProfileExpectation.satisfied` accepts additional
 * ones, for example about the data of an application's collector.
 */
export interface ProfileCheck {
  /** Completes "Expected the request to …": `render the template "cart"`. */
  readonly claim: string
  /** The panel that a failure shows; by default the whole profile. */
  readonly panel?: string
  /** Checks the claim. */
  examine(subject: ShownProfile): Examination
}

/** The result of a `ProfileCheck`: whether its claim is true, and the facts for the message. */
export interface Examination {
  /** Whether the claim is true. */
  readonly holds: boolean
  /** The expected and the actual value: test runners show the difference. */
  readonly expected: unknown
  readonly actual: unknown
  /** A clause that states the facts: `it rendered cart, layout`. */
  readonly found: string
}
