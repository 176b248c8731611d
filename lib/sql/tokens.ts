/** A token of a statement. Spaces and comments are no tokens. */
export interface SqlToken {
  readonly kind: 'word' | 'identifier' | 'string' | 'number' | 'placeholder' | 'operator'
  /** The text of the token as it is written. */
  readonly text: string
  /** Whether a space or a comment comes before it. */
  readonly isApart: boolean
}

/** The lexical rules of a system. */
interface Dialect {
  /** Whether a backslash escapes the next character of a string; `undefined` if it is not known. */
  readonly hasBackslash: boolean | undefined
  /** The quotes of strings; other quotes are those of names. */
  readonly stringQuotes: string
  /** Matches one token or the beginning of one, by its groups: see `readTokens`. */
  readonly pattern: RegExp
}

/** The parts of a pattern that differ between dialects. */
interface Forms {
  readonly placeholder?: string
  readonly lineComment?: string
  /** The characters that begin a name in quotes or brackets, or a string. */
  readonly quotes?: string
  readonly dollarQuote?: string
}

const anyPlaceholder = String.raw`\?\d*|\$\d+|[:@$][A-Za-z_]\w*`
const dollarTag = String.raw`|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$`

function createPattern({
  dollarQuote = '',
  lineComment = String.raw`--[^\n]*`,
  placeholder = anyPlaceholder,
  quotes = '"`',
}: Forms): RegExp {
  const groups = [
    String.raw`\s+|${lineComment}`,
    // Comments of the forms /*! and /*+ are executed, or are hints: their content is read as the rest of the statement.
    String.raw`\/\*(?![!+])`,
    // A letter may be before a string: E'', N'', X'', B'', U&'', and Oracle's q'[]'.
    `(?:[eExXbB]|[uU]&|[nN]?[qQ]|[nN])?'|[${quotes}]${dollarQuote}`,
    String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`,
    String.raw`0[xX][\da-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`,
    // Before the placeholders: a cast and an assignment begin with a colon, too.
    String.raw`::|:=|\/\*[!+]\d*|\*\/`,
    placeholder,
    String.raw`=>|<=>|<>|!=|<=|>=|\|\||->>?|#>>?|[\s\S]`,
  ]
  return new RegExp(groups.map(group => `(${group})`).join('|'), 'y')
}

const quotesOfNames = '"`'
const standard: Dialect = { hasBackslash: false, stringQuotes: `'`, pattern: createPattern({}) }
const bracketed: Dialect = { ...standard, pattern: createPattern({ quotes: `${quotesOfNames}[` }) }
const postgresql: Dialect = {
  ...standard,
  pattern: createPattern({ placeholder: String.raw`\?|\$\d+|:[A-Za-z_]\w*`, dollarQuote: dollarTag }),
}
const mysql: Dialect = {
  hasBackslash: true,
  stringQuotes: `'"`,
  pattern: createPattern({
    placeholder: String.raw`\?|:[A-Za-z_]\w*`,
    lineComment: String.raw`(?:--(?=\s|$)|#)[^\n]*`,
  }),
}
/** Everything that may be a string or a comment is one. */
const unknown: Dialect = {
  hasBackslash: undefined,
  stringQuotes: `'"`,
  pattern: createPattern({ dollarQuote: dollarTag, lineComment: String.raw`(?:--|#(?![>-]))[^\n]*` }),
}

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ['mysql', mysql],
  ['mariadb', mysql],
  ['sqlite', bracketed],
  ['microsoft.sql_server', bracketed],
  ['oracle.db', standard],
  ['ibm.db2', standard],
])

/** The kinds of the groups behind that of quotes; the last group is an operator. */
const kinds: readonly SqlToken['kind'][] = ['word', 'number', 'operator', 'placeholder']

/**
 * Reads the tokens of a statement in the dialect of a system (`db.system.name` of OpenTelemetry). Of
 * an unknown system, a string with an ambiguous end contains the rest of the statement: a part of it
 * could be a value. So does a string without an end. Each character is read a bounded number of times.
 */
export function readTokens(text: string, system: string): SqlToken[] {
  const { hasBackslash, pattern, stringQuotes } = isLikePostgres(system)
    ? postgresql
    : (dialects.get(system.toLowerCase()) ?? unknown)
  const tokens: SqlToken[] = []
  let isApart = false
  let at = 0
  pattern.lastIndex = at
  // The last group matches any character: no match is the end of the text.
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [found, skipped, comment, quoted, ...others] = match
    let end = at + found.length
    if (comment !== undefined) end = endOfComment(text, at)
    else if (quoted !== undefined) {
      const quote = quoted.slice(-1)
      const isString = quoted.length > 1 || stringQuotes.includes(quote)
      if (quoted.startsWith('$')) end = endOf(text, quoted, end)
      else if (/q'$/i.test(quoted)) end = endOf(text, `${closing[text.charAt(end)] ?? text.charAt(end)}'`, end + 1)
      else end = endOfQuoted(text, end, quote === '[' ? ']' : quote, isString && (/^e/i.test(quoted) || hasBackslash))
      tokens.push({ kind: isString ? 'string' : 'identifier', text: text.slice(at, end), isApart })
    } else if (skipped === undefined) {
      const kind = kinds[others.findIndex(group => group !== undefined)] ?? 'operator'
      tokens.push({ kind, text: found, isApart })
    }
    isApart = skipped !== undefined || comment !== undefined
    at = end
    pattern.lastIndex = end
  }
  return tokens
}

/** The closing brackets of Oracle's strings, such as `q'[text]'`. */
const closing: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}', '<': '>' }

function endOf(text: string, mark: string, from: number): number {
  const start = text.indexOf(mark, from)
  return start === -1 ? text.length : start + mark.length
}

/** The index behind the closing quote; a doubled quote is part of the content. */
function endOfQuoted(text: string, start: number, quote: string, hasBackslash: boolean | undefined): number {
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\\' && hasBackslash !== false) {
      if (hasBackslash) at++
      // It may be an escaped quote, or the last character of the string.
      else if (text.charAt(at + 1) === quote) return text.length
    } else if (character === quote) {
      if (text.charAt(at + 1) !== quote) return at + 1
      at++
    }
  }
  return text.length
}

/** The index behind the comment that begins at a place, and behind the comments in it. */
function endOfComment(text: string, start: number): number {
  let depth = 0
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return text.length
}

/**
 * The attributes of a span that have the name of the database system, by OpenTelemetry's
 * conventions: the newer one first.
 */
export const systemAttributes = ['db.system.name', 'db.system'] as const

/** The attributes of a span that have its statement: the newer one first. */
export const statementAttributes = ['db.query.text', 'db.statement'] as const

const valueAttributes = /^(?:db\.(?:query|operation)\.parameter\.|db\.(?:postgresql\.values|connection_string|user)$)/

/** Whether an attribute has a value of a statement, or a user: its name does not say whether it is a secret. */
export function isValueAttribute(name: string): boolean {
  return valueAttributes.test(name)
}

/** Whether an attribute has a statement, which may contain values. */
export function isStatementAttribute(name: string): boolean {
  return (statementAttributes as readonly string[]).includes(name)
}

const caches: ReadonlySet<string> = new Set(['redis', 'valkey', 'memcached'])

/** Whether a system is a cache: its statements are commands with a key. */
export function isCache(system: string): boolean {
  return caches.has(system.toLowerCase())
}

/** Whether the statements of a system are commands with documents, whose values their source has taken out. */
export function isDocumentStore(system: string): boolean {
  return system.toLowerCase() === 'mongodb'
}

const likePostgres: ReadonlySet<string> = new Set(['postgresql', 'cockroachdb', 'aws.redshift', 'redshift'])

/** Whether statements of a system are written as for PostgreSQL. `redshift` is an older name of OpenTelemetry. */
export function isLikePostgres(system: string): boolean {
  return likePostgres.has(system.toLowerCase())
}
