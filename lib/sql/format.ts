import { readTokens, type SqlToken } from './tokens.ts'

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Words that begin a clause. */
const clauses = words(
  'WITH SELECT FROM WHERE GROUP HAVING WINDOW ORDER LIMIT OFFSET FETCH FOR UNION INTERSECT EXCEPT ' +
    'INSERT VALUES UPDATE SET DELETE RETURNING',
)
/** After these words, a word that may begin a clause is part of the clause before it. */
const joining = words('DELETE DISTINCT DO FOR KEY GROUP')
const joins = words('JOIN LEFT RIGHT INNER FULL CROSS NATURAL OUTER STRAIGHT_JOIN')

/** A longer clause has a line for each of its parts. */
const lineLength = 80
/** Deeper subqueries are not indented further: the indentation of a hostile statement must not outgrow it. */
const deepest = 8

/**
 * Lays out an SQL statement for people: a line per clause, with subqueries and joins indented. A long clause is
 * broken at its commas and conditions. Only whitespace changes; a statement with comments is returned as it is.
 */
export function formatSql(statement: string, system: string): string {
  const tokens = readTokens(statement, system)
  const layout = new SqlLayout()
  for (const [index, token] of tokens.entries()) layout.take(token, tokens[index - 1], tokens[index + 1])
  const formatted = layout.finish()
  return withoutSpace(formatted) === withoutSpace(statement) ? formatted : statement
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '')
}

class SqlLayout {
  readonly #lines: string[] = []
  #parts: { text: string }[] = []
  #indent = 0
  /** Steps of the current line in addition: those of a join. */
  #more = 0
  /** The open brackets: those of subqueries, and others. */
  readonly #brackets: ('query' | 'other')[] = []
  #isBetween = false

  take(token: SqlToken, before: SqlToken | undefined, after: SqlToken | undefined): void {
    const { isApart, text } = token
    const word = wordOf(token)
    const isInQuery = this.#brackets.at(-1) !== 'other'
    if (text === ')') {
      this.#close(isApart)
      return
    }
    if (isInQuery && beginsClause(word, wordOf(before), wordOf(after))) this.#flush()
    else if (isInQuery && beginsJoin(word, wordOf(before), after)) this.#flush(1)
    else if (isInQuery && (word === 'AND' || word === 'OR') && !this.#isBetween) this.#parts.push({ text: '' })
    this.#write(text, isApart)
    if (isInQuery && (word === 'BETWEEN' || word === 'AND')) this.#isBetween = word === 'BETWEEN'
    if (text === ',' && isInQuery) this.#parts.push({ text: '' })
    if (text === '(') this.#open(wordOf(after))
  }

  finish(): string {
    this.#flush()
    return this.#lines.join('\n')
  }

  #open(next: string): void {
    const isQuery = next === 'SELECT' || next === 'WITH'
    this.#brackets.push(isQuery ? 'query' : 'other')
    if (!isQuery) return
    this.#flush()
    this.#indent++
  }

  #close(isApart: boolean): void {
    const isQuery = this.#brackets.pop() === 'query'
    if (isQuery) {
      this.#flush()
      this.#indent--
    }
    this.#write(')', isApart && !isQuery)
  }

  #write(text: string, isApart: boolean): void {
    const last = this.#parts.at(-1)
    if (last === undefined) this.#parts.push({ text })
    else last.text += isApart && last.text !== '' ? ` ${text}` : text
  }

  /** Ends the line; the next one has `more` steps in addition. */
  #flush(more = 0): void {
    const parts = this.#parts.map(({ text }) => text).filter(text => text !== '')
    const step = (level: number) => '  '.repeat(Math.min(level, deepest))
    const whole = parts.join(' ')
    const lines = whole.length <= lineLength ? [whole] : parts
    for (const [index, line] of lines.entries()) {
      if (line !== '') this.#lines.push(`${step(this.#indent + this.#more + (index === 0 ? 0 : 1))}${line}`)
    }
    this.#parts = []
    this.#more = more
  }
}

/** The word of a token in capitals; empty for other tokens. */
function wordOf(token: SqlToken | undefined): string {
  return token?.kind === 'word' ? token.text.toUpperCase() : ''
}

function beginsClause(word: string, before: string, after: string): boolean {
  if (word === 'ON') return after === 'CONFLICT' || after === 'DUPLICATE'
  return clauses.has(word) && !joining.has(before)
}

/** Whether a word begins a join: `LEFT` and `RIGHT` are functions, too. */
function beginsJoin(word: string, before: string, after: SqlToken | undefined): boolean {
  return joins.has(word) && !joins.has(before) && after?.text !== '('
}
