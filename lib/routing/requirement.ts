/** What the whole value of a variable must be like. */
export interface Requirement {
  /** The variable. */
  readonly name: string
  /** As it was declared, for people. */
  readonly text: string
  /** Matches whole values only, and keeps no state between them. */
  readonly regexp: RegExp
}

/**
 * Creates a requirement from its declaration, which is made to match the whole value.
 *
 * @throws SyntaxError when a text is not a regular expression
 */
export function createRequirement(name: string, declared: RegExp | string): Requirement {
  // A text is compiled on its own first: `a)|(b` must not get around the anchors. Its flags are those of Symfony.
  const { source, flags } = typeof declared === 'string' ? new RegExp(declared, 'su') : declared
  // g and y would make it remember where it stopped, m would let the anchors match inside of a value.
  const regexp = new RegExp(`^(?:${source})$`, flags.replace(/[gym]/g, ''))
  return { name, text: source, regexp }
}
