import { readTokens, type SqlToken } from './tokens.ts'

/** A value of a statement: a literal or a placeholder. */
export interface Slot {
  /** The column that the value belongs to, where the statement says so with certainty. */
  readonly name: string | undefined
  /** A literal: a number as it is written, or a string without its quotes. */
  readonly literal?: { readonly kind: 'number' | 'string'; readonly text: string }
  /** The number of a placeholder, from 1, or its name. */
  readonly key?: number | string
}

/** A statement without its values. */
export interface SqlStatement {
  /** The statement with `?` for its literals and one space for spaces and comments. Placeholders are as they were. */
  readonly shape: string
  /** The values, in the order of the text. */
  readonly slots: readonly Slot[]
  /** The names of tables after FROM, JOIN, INTO and UPDATE. */
  readonly tables: readonly string[]
}

/**
 * Separates a statement from its values. A value gets the name of its column in the forms
 * `column = value`, `column IN (…)`, `column BETWEEN … AND …`, `INSERT INTO table (columns) VALUES (…)`,
 * `SET column = value` and `LIMIT value`, also within functions such as `lower`. In doubt it has no
 * name: a wrong name would show a secret. Only the first 10,000 characters are read.
 */
export function readStatement(text: string, system: string): SqlStatement {
  const isLong = text.length > statementLimit
  const tokens = readTokens(isLong ? text.slice(0, statementLimit) : text, system)
  const statement = new StatementReader(tokens, quotedValues.has(system.toLowerCase())).read()
  return isLong ? { ...statement, shape: `${statement.shape}…` } : statement
}

/**
 * The characters of a statement that are read: each may cost a microsecond. The shape of a longer one ends with `…`.
 */
export const statementLimit = 10_000

/** Systems that read a name in double quotes as a text where it is the name of no column. */
const quotedValues: ReadonlySet<string> = new Set(['sqlite', 'microsoft.sql_server'])

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '))
/** Words that compare the column before them with the value after them. */
const comparingWords = words('LIKE ILIKE RLIKE REGEXP BETWEEN IN')
const comparators = new Set(['=', '<>', '!=', '<', '>', '<=', '>=', '<=>', '~', ':=', '=>'])
/** Words directly before a value that change nothing about its column. */
const prefixes = words('DATE TIME TIMESTAMP INTERVAL BINARY NOT')
/** Functions and operators of which each argument belongs to the compared column. */
const plainFunctions = words('IN ANY ALL SOME LOWER UPPER TRIM LTRIM RTRIM CAST COALESCE IFNULL DATE ABS')
const beforeTables = words('FROM JOIN INTO UPDATE')
const counts = words('LIMIT OFFSET')
/** Parts of a path before its last name: server, database, schema, table. */
const pathLimit = 4
/** Words before and after which an expression is complete. */
const beforeExpressions = words('WHERE AND OR ON NOT HAVING WHEN IF SET UPDATE SELECT PRAGMA')
const afterExpressions = words('AND OR WHERE GROUP ORDER LIMIT THEN HAVING RETURNING')
const afterExpressionMarks = new Set([')', ',', ';'])

/** A pair of brackets, or the whole statement. */
interface Scope {
  readonly kind: 'plain' | 'list' | 'columns' | 'row'
  /** The index of the opening bracket. */
  readonly open: number
  /** The column that all values of a list belong to. */
  readonly column?: string | undefined
  /** The names in the list. */
  readonly columns: readonly string[]
  /** The index of the next item. */
  position: number
}

class StatementReader {
  readonly #tokens: readonly SqlToken[]
  readonly #slots: Slot[] = []
  readonly #tables: string[] = []
  readonly #open: Scope[] = []
  #scope: Scope = { kind: 'plain', open: -1, columns: [], position: 0 }
  /** The scopes by the indices of their closing brackets. */
  readonly #closed = new Map<number, Scope>()
  #questionMarks = 0

  readonly #hasQuotedValues: boolean

  constructor(tokens: readonly SqlToken[], hasQuotedValues: boolean) {
    this.#tokens = tokens
    this.#hasQuotedValues = hasQuotedValues
  }

  read(): SqlStatement {
    let shape = ''
    for (const [index, token] of this.#tokens.entries()) {
      const { isApart, kind, text } = token
      const isLiteral = kind === 'string' || kind === 'number' || this.#isValue(index, token)
      shape += (isApart && shape !== '' ? ' ' : '') + (isLiteral ? '?' : text)
      if (isLiteral || kind === 'placeholder') this.#addSlot(index, token)
      else if (kind !== 'operator') this.#addTable(index)
      else if (text === '(') this.#openScope(index)
      else if (text === ')') this.#closeScope(index)
      else if (text === ',') this.#scope.position++
    }
    return { shape, slots: this.#slots, tables: this.#tables }
  }

  #addSlot(index: number, { kind, text }: SqlToken): void {
    const name = this.#columnFor(index) ?? this.#columnBehind(index)
    if (kind === 'placeholder') this.#slots.push({ name, key: this.#keyOf(text) })
    else if (kind === 'number') this.#slots.push({ name, literal: { kind, text } })
    else this.#slots.push({ name, literal: { kind: 'string', text: unquoteString(text) } })
  }

  /** Whether a word or a name in quotes is a value at its place: a password, or a text in double quotes. */
  #isValue(index: number, { kind, text }: SqlToken): boolean {
    if (kind !== 'word' && kind !== 'identifier') return false
    // IDENTIFIED BY password [REPLACE password]
    if (this.#word(index - 1) === 'BY' && this.#word(index - 2) === 'IDENTIFIED') return true
    const isPath = this.#text(index - 1) === '.' || this.#text(index + 1) === '.'
    if (!this.#hasQuotedValues || !text.startsWith('"') || isPath) return false
    const isCompared = comparators.has(this.#text(index - 1)) || comparingWords.has(this.#word(index - 1))
    return isCompared || this.#scope.kind === 'row' || this.#scope.column !== undefined || this.#word(0) === 'PRAGMA'
  }

  #keyOf(placeholder: string): number | string {
    const rest = placeholder.slice(1)
    if (rest === '') return ++this.#questionMarks
    return /^\d/.test(rest) ? Number(rest) : rest
  }

  /** The column that a value or a bracket at an index belongs to, by the tokens before it. */
  #columnFor(index: number): string | undefined {
    const { column, kind, open, position } = this.#scope
    if (kind === 'row') return this.#scope.columns[position]
    let at = index - 1
    while (prefixes.has(this.#word(at)) || this.#isUnarySign(at)) at--
    const text = this.#text(at)
    const word = this.#word(at)
    if (kind === 'list' && (at === open || text === ',')) return column
    if (counts.has(word)) return word.toLowerCase()
    if (word === 'AND' && this.#word(at - 2) === 'BETWEEN') return this.#columnAt(at - 3)
    return comparators.has(text) || comparingWords.has(word) ? this.#columnAt(at - 1) : undefined
  }

  #isUnarySign(index: number): boolean {
    const text = this.#text(index)
    if (text !== '-' && text !== '+') return false
    const { kind = 'operator', text: before = '' } = this.#tokens[index - 1] ?? {}
    return kind === 'word' || (kind === 'operator' && before !== ')')
  }

  /** The column whose name ends at an index, or that a plain function at this place has as its only argument. */
  #columnAt(index: number): string | undefined {
    let at = this.#word(index) === 'NOT' ? index - 1 : index
    while (this.#text(at - 1) === '::') at -= 2
    const scope = this.#closed.get(at)
    const name = this.#nameAt(scope === undefined ? at : at - 1)
    if (scope === undefined) return this.#isComplete(this.#startOfPath(at)) ? name : undefined
    const isPlain = plainFunctions.has(this.#word(scope.open - 1)) && this.#isComplete(scope.open - 1)
    return isPlain && this.#startOfPath(at - 1) === scope.open + 1 ? name : undefined
  }

  /** Whether an expression begins at an index: a name in `a || name = 'x'` is not all that is compared. */
  #isComplete(index: number): boolean {
    const text = this.#text(index - 1)
    return index === 0 || text === '(' || text === ',' || beforeExpressions.has(this.#word(index - 1))
  }

  /** The column of `value = column`. */
  #columnBehind(index: number): string | undefined {
    if (!comparators.has(this.#text(index + 1)) || !this.#isComplete(index)) return undefined
    let at = index + 2
    for (let part = 0; part < pathLimit && this.#text(at + 1) === '.'; part++) at += 2
    const isLast = at + 1 >= this.#tokens.length || afterExpressions.has(this.#word(at + 1))
    return isLast || afterExpressionMarks.has(this.#text(at + 1)) ? this.#nameAt(at) : undefined
  }

  #openScope(index: number): void {
    this.#open.push(this.#scope)
    const before = this.#word(index - 1)
    const isCalled = this.#nameAt(index - 1) !== undefined && !comparingWords.has(before)
    const last = this.#closed.get(index - 2)
    if (before === 'VALUES') {
      this.#enter({ kind: 'row', open: index, columns: last?.kind === 'columns' ? last.columns : [] })
    } else if (this.#text(index - 1) === ',' && last?.kind === 'row') {
      this.#enter({ kind: 'row', open: index, columns: last.columns })
    } else if (isCalled && this.#word(this.#startOfPath(index - 1) - 1) === 'INTO') {
      this.#enter({ kind: 'columns', open: index, columns: this.#namesAfter(index) })
    } else if (!isCalled || plainFunctions.has(before)) {
      this.#enter({ kind: 'list', open: index, column: this.#columnFor(isCalled ? index - 1 : index), columns: [] })
    } else this.#enter({ kind: 'plain', open: index, columns: [] })
  }

  #enter(scope: Omit<Scope, 'position'>): void {
    this.#scope = { ...scope, position: 0 }
  }

  #closeScope(index: number): void {
    const outer = this.#open.pop()
    if (outer === undefined) return
    this.#closed.set(index, this.#scope)
    this.#scope = outer
  }

  /** The names in brackets, `a, "b"`. */
  #namesAfter(open: number): string[] {
    const names: string[] = []
    let at = open + 1
    for (let name = this.#nameAt(at); name !== undefined; name = this.#nameAt(at)) {
      names.push(name)
      at = this.#text(at + 1) === ',' ? at + 2 : this.#tokens.length
    }
    return names
  }

  #addTable(index: number): void {
    const name = this.#nameAt(index)
    if (name === undefined || this.#text(index + 1) === '.') return
    if (beforeTables.has(this.#word(this.#startOfPath(index) - 1))) this.#tables.push(name)
  }

  /** The index at which the path begins that ends at an index: `schema.table`. A longer one than this is none. */
  #startOfPath(end: number): number {
    let at = end
    for (let part = 0; part < pathLimit && this.#text(at - 1) === '.' && this.#nameAt(at - 2) !== undefined; part++)
      at -= 2
    return at
  }

  #nameAt(index: number): string | undefined {
    const { kind, text = '' } = this.#tokens[index] ?? {}
    if (kind === 'identifier') return text.slice(1, -1)
    return kind === 'word' ? text : undefined
  }

  #word(index: number): string {
    const { kind, text = '' } = this.#tokens[index] ?? {}
    return kind === 'word' ? text.toUpperCase() : ''
  }

  /** The text of an operator; empty for other tokens. */
  #text(index: number): string {
    const { kind, text = '' } = this.#tokens[index] ?? {}
    return kind === 'operator' ? text : ''
  }
}

/** The content of a string. Escapes with a backslash stay as they are. */
function unquoteString(text: string): string {
  const content = text.replace(/^(?:[A-Za-z&]*['"]|\$\w*\$)/, '')
  const open = text.slice(0, text.length - content.length)
  if (open === '') return text
  const close = open.startsWith('$') ? open : open.slice(-1)
  return (content.endsWith(close) ? content.slice(0, -close.length) : content).replaceAll(`${close}${close}`, close)
}

/** A literal of a statement. */
export type Literal = NonNullable<Slot['literal']>

/** A statement whose literals were replaced by empty ones: it has the same tokens, and no values. */
interface EmptiedStatement {
  /** The statement with `''` and `0` in place of its literals. */
  readonly text: string
  /** The literals, in the order of the text. */
  readonly literals: readonly Literal[]
}

/**
 * The most characters of a statement that is emptied: the time for a hostile statement grows with
 * the square of its length.
 */
const lengthLimit = 2000

/** A string or a number that is read in the same way in each dialect, wherever it stands. */
const literal = /(?<![\w.?:@$'"`\\])(?:'(?:[^'\\]|'')*'(?!')|\d+(?:\.\d+)?(?![\w.]))/g

/** Anything else that may be, contain or end a literal or a comment in one of the dialects. */
const unusual = /(?<!')'(?!')|'{3,}|[\w.?:]'|'\w|["`\\$#@[\]{}/\u0080-\uffff]|--|(?<!\w)(?:[1-9]|0[\w.])|[.?:]\d/

/**
 * Empties the literals of a statement without reading its tokens, so that it is recognised if it
 * comes again with other values. `undefined` for a statement whose literals may depend on the
 * dialect: with comments, escapes, or other quotes.
 */
export function emptyLiterals(statement: string): EmptiedStatement | undefined {
  if (statement.length > lengthLimit) return undefined
  const literals: Literal[] = []
  const text = statement.replace(literal, found => {
    const isString = found.startsWith("'")
    literals.push(
      isString ? { kind: 'string', text: found.slice(1, -1).replaceAll("''", "'") } : { kind: 'number', text: found },
    )
    return isString ? "''" : '0'
  })
  return unusual.test(text) ? undefined : { text, literals }
}
