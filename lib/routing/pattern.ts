import { type Parameter, PathError, parse, pathToRegexp, type Text, type Token, type Wildcard } from 'path-to-regexp'

/** The values of variables beside their names. */
export interface Variables {
  readonly names: readonly string[]
  readonly values: readonly string[]
}

/** What a text that has the form of a pattern says: its variables, unless a requirement fails. */
export type PatternMatch =
  | (Variables & { readonly failed?: never })
  | { readonly failed: Requirement; readonly names?: never }

/** How to read a pattern. */
export interface PatternOptions {
  /** What no `:variable` contains: `/` in a path (the default), `.` in a host. */
  readonly delimiter?: '/' | '.'
  /** By variable; those of other variables are left alone. */
  readonly requirements?: Readonly<Record<string, RegExp | string>>
}

/**
 * A pattern for paths or hosts in the syntax of path-to-regexp: `:variable`, `*wildcard`, `{optional part}`. Case counts,
 * and so does a slash at the end; the text of hosts is lower case. As in Symfony, a variable that is followed by one of
 * `,;.:-_~*+@|` does not contain that character, unless it has a requirement.
 */
export class Pattern {
  readonly source: string
  /** All variables, in order. */
  readonly names: readonly string[]
  /** Every way to spell the pattern, from the one with all optional parts to the one with none. */
  readonly forms: readonly PatternForm[]
  /** Declared ones, and those that follow from what stands behind a variable. */
  readonly requirements: readonly Requirement[]

  /** @throws TypeError SyntaxError for a pattern or a requirement that cannot be read */
  constructor(source: string, { delimiter = '/', requirements = {} }: PatternOptions = {}) {
    const { names, sequences, forms } = readSource(source, delimiter)
    this.source = source
    this.names = names
    this.forms = forms
    this.requirements = names.flatMap(name => {
      const declared = Object.hasOwn(requirements, name) ? requirements[name] : impliedRequirement(name, sequences)
      return declared === undefined ? [] : createRequirement(name, declared)
    })
  }

  /** Reads the variables out of a text; `undefined` when it does not have the pattern's form. */
  match(text: string): PatternMatch | undefined {
    let failed: Requirement | undefined
    for (const form of this.forms) {
      const values = form.match(text)
      if (values === undefined) continue
      const variables = { names: form.names, values }
      const requirement = this.findFailed(variables)
      if (requirement === undefined) return variables
      failed ??= requirement
    }
    return failed && { failed }
  }

  /** The first requirement that a value fails. */
  findFailed({ names, values }: Variables): Requirement | undefined {
    for (const requirement of this.requirements) {
      const value = values[names.indexOf(requirement.name)]
      if (value !== undefined && !requirement.regexp.test(value)) return requirement
    }
    return undefined
  }
}

function readSource(source: string, delimiter: '/' | '.') {
  // `{id}` could be read, as an optional word: surely not what someone who knows Symfony means.
  const [, braced] = /\/\{(\w+)\}/.exec(source) ?? []
  if (braced !== undefined) throw new TypeError(`write ":${braced}" instead of "{${braced}}"`)
  try {
    const { tokens } = parse(source, delimiter === '.' ? { encodePath: text => text.toLowerCase() } : {})
    const names = namesOf(tokens)
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) throw new TypeError(`it has two variables "${repeated}"`)
    const sequences = expand(tokens)
    return { names, sequences, forms: sequences.map(sequence => new PatternForm(sequence, delimiter)) }
  } catch (error) {
    if (!(error instanceof PathError)) throw error
    throw new TypeError(`${error.message.replace(/; visit .*/, '')} (${syntax})`, { cause: error })
  }
}

const syntax = 'write ":name", "*wildcard" and "{/:optional}"; regular expressions go into the requirements'

function namesOf(tokens: readonly Token[]): string[] {
  return tokens.flatMap(token => {
    if (token.type === 'text') return []
    return token.type === 'group' ? namesOf(token.tokens) : token.name
  })
}

/** Each form on its own: where a requirement fails, the next form has its turn, which one joint regexp could not do. */
function expand(tokens: readonly Token[]): Sequence[] {
  return tokens.reduce<Sequence[]>(
    (sequences, token) => {
      const added = token.type === 'group' ? [...expand(token.tokens), []] : [[token]]
      const longer = sequences.flatMap(sequence => added.map(more => [...sequence, ...more]))
      if (longer.length > formLimit) throw new TypeError(`it has more than ${formLimit} forms; declare several instead`)
      return longer
    },
    [[]],
  )
}

const formLimit = 64

/** What follows a variable ends it. */
function impliedRequirement(name: string, sequences: readonly Sequence[]): string | undefined {
  const separators = sequences.flatMap(sequence => {
    const index = sequence.findIndex(token => token.type === 'param' && token.name === name)
    const next = index === -1 ? undefined : sequence[index + 1]
    return next?.type === 'text' ? (/^[,;.:\-_~*+@|]/.exec(next.value) ?? []) : []
  })
  return separators.length === 0 ? undefined : `[^${[...new Set(separators)].join('').replace('-', '\\-')}]+`
}

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
