/** How a file that is there has to be changed. */
export interface Change {
  /** All of it as it is to be; `undefined` where it looks different from what is expected. */
  readonly text: string | undefined
  /** What is added. */
  readonly lines: readonly string[]
}

/** What a generator is about to write. Paths lead from the project's root. */
export interface Plan {
  readonly files: readonly { readonly path: string; readonly text: string }[]
  readonly changed: string
  readonly change: Change
  /** The test of it, which is one of the files. */
  readonly test: string
  /** How to see it at work, as a sentence. */
  readonly next: string
}
