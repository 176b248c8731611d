import { type Parameter, PathError, parse, pathToRegexp, type Text, type Token, type Wildcard } from 'path-to-regexp'
import { describeValue } from '../text/describe-value.ts'

/** The names of variables, and their values in the same order. */
export interface Variables {
  readonly names: readonly string[]
  readonly values: readonly string[]
}

/** The variables of a text that has the form of a pattern, or the requirement that fails. */
export type PatternMatch =
  | (Variables & { readonly failed?: never })
  | { readonly failed: Requirement; readonly names?: never }

interface PatternOptions {
  /** The character that no `:variable` contains: `/` in a path (the default), `.` in a host. */
  readonly delimiter?: '/' | '.'
  /** The requirements by the names of their variables. Names without a variable are ignored. */
  readonly requirements?: Readonly<Record<string, RegExp | string>>
}

/**
 * A pattern for paths or hosts in the syntax of path-to-regexp: `:variable`, `*wildcard`, `{optional part}`. Case and a
 * slash at the end matter; hosts are in lower case. As in Symfony, a variable with one of `,;.:-_~*+@|` behind it does
 * not contain that character, unless it has a requirement.
 */
export class Pattern {
  readonly source: string
  /** All variables, in order. */
  readonly names: readonly string[]
  /** All forms of the pattern, from the one with all optional parts to the one with none. */
  readonly forms: readonly PatternForm[]
  /** Declared requirements, and those that follow from the character behind a variable. */
  readonly requirements: readonly Requirement[]

  /** @throws TypeError SyntaxError for a malformed pattern or requirement */
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

  /** Matches a text; `undefined` if it does not have a form of the pattern. */
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

  /** The first requirement that fails for its value. */
  findFailed({ names, values }: Variables): Requirement | undefined {
    for (const requirement of this.requirements) {
      const value = values[names.indexOf(requirement.name)]
      if (value !== undefined && !requirement.regexp.test(value)) return requirement
    }
    return undefined
  }
}

function readSource(source: string, delimiter: '/' | '.') {
  // `{id}` and `<id>` are valid, as words. But in other frameworks they are variables, so they are refused.
  const [, foreign] = /\/(\{\w+\}|<\w+>)/.exec(source) ?? []
  if (foreign !== undefined) throw new TypeError(`write ":${foreign.slice(1, -1)}" instead of "${foreign}"`)
  if (delimiter === '.' && /:\d+$/.test(source)) throw new TypeError('leave the port out: a host matches with any port')
  try {
    const { tokens } = parse(source, delimiter === '.' ? { encodePath: text => text.toLowerCase() } : {})
    const names = namesOf(tokens)
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) throw new TypeError(`it has two variables "${repeated}"`)
    const sequences = expand(tokens)
    return { names, sequences, forms: sequences.map(sequence => new PatternForm(sequence, delimiter)) }
  } catch (error) {
    if (!(error instanceof PathError)) throw error
    const optional = source.replace(/(\/:\w+)\?(?=\/|$)/g, '{$1}')
    const hint = optional !== source ? `write "${optional}"` : source.includes('?') ? query : syntax
    throw new TypeError(`${error.message.replace(/; visit .*/, '')} (${hint})`, { cause: error })
  }
}

const query = 'leave the query out, and read it by queryValue() or request.query'
const syntax = 'write ":name", "*wildcard" and "{/:optional}"; regular expressions go into the requirements'

function namesOf(tokens: readonly Token[]): string[] {
  return tokens.flatMap(token => {
    if (token.type === 'text') return []
    return token.type === 'group' ? namesOf(token.tokens) : token.name
  })
}

/** Lists the forms. They are matched one by one, because a requirement may fail for one form and hold for the next. */
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

/** The requirement that follows from the character behind a variable: the value does not contain it. */
function impliedRequirement(name: string, sequences: readonly Sequence[]): string | undefined {
  const separators = sequences.flatMap(sequence => {
    const index = sequence.findIndex(token => token.type === 'param' && token.name === name)
    const next = index === -1 ? undefined : sequence[index + 1]
    return next?.type === 'text' ? (/^[,;.:\-_~*+@|]/.exec(next.value) ?? []) : []
  })
  return separators.length === 0 ? undefined : `[^${[...new Set(separators)].join('').replace('-', '\\-')}]+`
}

/** A requirement for the whole value of a variable. */
export interface Requirement {
  /** The variable. */
  readonly name: string
  /** The declaration, for messages. */
  readonly text: string
  /** Matches whole values only, without state between matches. */
  readonly regexp: RegExp
}

/**
 * Creates a requirement that matches the whole value.
 *
 * @throws SyntaxError for a text that is no regular expression
 */
export function createRequirement(name: string, declared: RegExp | string): Requirement {
  if (typeof declared !== 'string' && !(declared instanceof RegExp)) {
    throw new TypeError(`the requirement for "${name}" is a pattern, such as /\\d+/, not ${describeValue(declared)}`)
  }
  if (typeof declared === 'string' && /^[(^]*[dDsSwW][+*{]/.test(declared)) {
    const right = declared.replace(/[dDsSwW](?=[+*{])/g, '\\$&')
    throw new TypeError(
      `the requirement for "${name}" is ${declared}: a text loses its backslash, so write /${right}/; for the letter itself /${declared}/`,
    )
  }
  // A text is first compiled alone, so that `a)|(b` cannot break the anchors. The flags are those of Symfony.
  const { source, flags } = typeof declared === 'string' ? new RegExp(declared, 'su') : declared
  // g and y would keep state between matches, m would let the anchors match within a value.
  const regexp = new RegExp(`^(?:${source})$`, flags.replace(/[gym]/g, ''))
  return { name, text: source, regexp }
}

/** Texts and variables in their order. */
type Sequence = readonly (Text | Parameter | Wildcard)[]

/** The text of each segment between slashes; `undefined` for a segment with a variable. */
export type Segments = readonly (string | undefined)[]

/** One form of a pattern: with or without each of its optional parts. */
export class PatternForm {
  readonly names: readonly string[]
  /** The text before the first variable. */
  readonly leadingText: string
  /** Whether the form has no variable. */
  readonly isFixed: boolean
  /** Texts and variables in their order. */
  readonly sequence: Sequence
  readonly #regexp: RegExp

  /** @throws PathError for two variables without a text between them */
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

  /** The segments of a path, without the empty one before the first slash. */
  get segments(): Segments {
    // A NUL marks a variable: no path and no URL contains one.
    const spelled = this.sequence.map(token => (token.type === 'text' ? token.value : '\0')).join('')
    return spelled
      .split('/')
      .slice(1)
      .map(segment => (segment.includes('\0') ? undefined : segment))
  }

  /** The values of the names, in order; `undefined` if the text does not have this form. */
  match(text: string): readonly string[] | undefined {
    // A form has captures for its own variables only, so each name has a text.
    return this.isFixed ? (text === this.leadingText ? noValues : undefined) : this.#regexp.exec(text)?.slice(1)
  }

  /** Fills in the values of the variables. */
  fill(values: ReadonlyMap<string, string>): string {
    return this.sequence.map(token => (token.type === 'text' ? token.value : values.get(token.name))).join('')
  }
}

const noValues: readonly string[] = []
