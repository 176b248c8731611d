import { type Parameter, pathToRegexp, type Text, type Wildcard } from 'path-to-regexp'

/** Texts and variables in their order. */
export type Sequence = readonly (Text | Parameter | Wildcard)[]

/** The text of each segment, between slashes; `undefined` where a variable has a part in it. */
export type Segments = readonly (string | undefined)[]

/** One way to spell a pattern: each of its optional parts is either there or not. */
export class PatternForm {
  readonly names: readonly string[]
  /** What stands before the first variable. */
  readonly leadingText: string
  /** Whether there is no variable: the leading text is everything. */
  readonly isFixed: boolean
  /** Texts and variables in their order. */
  readonly sequence: Sequence
  readonly #regexp: RegExp

  /** @throws PathError for two variables with nothing between them */
  constructor(sequence: Sequence, delimiter: string) {
    const { regexp, keys } = pathToRegexp({ tokens: sequence }, { delimiter, sensitive: true, trailing: false })
    this.names = keys.map(key => key.name)
    this.isFixed = keys.length === 0
    let leadingText = ''
    for (const token of sequence) {
      if (token.type !== 'text') break
      leadingText += token.value
    }
    this.leadingText = leadingText
    this.sequence = sequence
    this.#regexp = regexp
  }

  /** The segments of a path, without the nothing in front of its first slash. */
  get segments(): Segments {
    // No text has a NUL: that of a path is refused, and so is that of a URL.
    const spelled = this.sequence.map(token => (token.type === 'text' ? token.value : '\0')).join('')
    return spelled
      .split('/')
      .slice(1)
      .map(segment => (segment.includes('\0') ? undefined : segment))
  }

  /** The values of the names, in order; `undefined` when a text does not have this form. */
  match(text: string): readonly string[] | undefined {
    // Variables that were left out have no capture in their form, so there is a text for every name.
    return this.isFixed ? (text === this.leadingText ? noValues : undefined) : this.#regexp.exec(text)?.slice(1)
  }

  /** Spells the form with the values of its variables. */
  fill(values: ReadonlyMap<string, string>): string {
    return this.sequence.map(token => (token.type === 'text' ? token.value : values.get(token.name))).join('')
  }
}

const noValues: readonly string[] = []
