import type { ExplainConnection } from '../../../../kernel/contracts/collectors.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { readStatement } from '../../../../lib/sql/statement.ts'
import { isDocumentStore, readTokens } from '../../../../lib/sql/tokens.ts'
import type { StoredQuery } from './read.ts'

/** A value that EXPLAIN needs: its name, and the value if it is known. */
interface NeededValue {
  /** The column that it belongs to where the statement says so, else its place: `$1`, `2`. */
  readonly name: string
  /** Absent for a value that is masked, or was not recorded. */
  readonly value?: unknown
}

/** A query that can be explained. */
interface ExplainableQuery {
  /** The statement, with placeholders in the form of its system also for former literals. */
  readonly statement: string
  /** In the order of the placeholders. */
  readonly values: readonly NeededValue[]
}

const readWords: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'TABLE', 'VALUES'])

const writeWords: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'INTO', 'CALL'])

/**
 * Gives the reason why a query must not be explained; `undefined` for one statement that only reads.
 * In doubt there is a reason: a word of a change that is the name of a column refuses the query, too.
 */
export function findObstacle({
  kind,
  system,
  text,
}: Pick<StoredQuery, 'kind' | 'system' | 'text'>): string | undefined {
  if (kind === 'cache') return 'it is a command of a cache'
  if (isDocumentStore(system)) return 'it is no statement of SQL'
  if (text.endsWith('…')) return 'its text is too long, and was cut'
  const tokens = [...readTokens(text, system)]
  if (tokens.at(-1)?.text === ';') tokens.pop()
  if (tokens.some(({ text }) => text === ';')) return 'it has more than one statement'
  if (tokens.some(({ text }) => text.startsWith('/*'))) return 'it has a comment that is executed'
  const words = tokens.filter(({ kind }) => kind === 'word').map(({ text }) => text.toUpperCase())
  const first = tokens.find(({ text }) => text !== '(')
  if (first === undefined || !readWords.has(first.text.toUpperCase()))
    return 'it does not begin with SELECT, WITH, TABLE or VALUES'
  const write = words.find(word => writeWords.has(word))
  return write === undefined ? undefined : `it contains ${write}`
}

/**
 * Finds the statement of a query and its values. `given` are values by name; `1` is the first one,
 * also if it has a name.
 */
export function toExplainable(query: StoredQuery, given: ReadonlyMap<string, string>): ExplainableQuery {
  const { parameters = [], system, text } = query
  const isPostgres = system === 'postgresql'
  const { slots } = readStatement(text, system)
  const places: { readonly text: string; readonly name: string | undefined }[] = []
  let statement = ''
  let slot = 0
  for (const token of readTokens(text, system)) {
    if (token.isApart && statement !== '') statement += ' '
    if (token.kind !== 'placeholder') {
      statement += token.text
      continue
    }
    // Each question mark is a placeholder of its own. A placeholder with a name or a number may occur again.
    const known = isPostgres && token.text !== '?' ? places.findIndex(({ text }) => text === token.text) : -1
    if (known === -1) places.push({ text: token.text, name: slots[slot]?.name })
    slot++
    statement += isPostgres ? `$${known === -1 ? places.length : known + 1}` : '?'
  }
  const isComplete = parameters.length === places.length
  const values = places.map((place, index): NeededValue => {
    const [recorded, value] = (isComplete ? parameters[index] : undefined) ?? []
    const name = recorded ?? place.name ?? (place.text === '?' ? String(index + 1) : place.text)
    const typed = given.get(name) ?? given.get(String(index + 1))
    if (typed !== undefined) return { name, value: isPostgres ? typed : toNumber(typed) }
    return recorded !== undefined && isWhole(value) ? { name, value } : { name }
  })
  return { statement: statement.replace(/;$/, ''), values }
}

/** MySQL takes no text where it needs a number, as for LIMIT. */
function toNumber(text: string): number | string {
  return /^-?\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : text
}

/** Whether a recorded value is the value of the query: texts may be masked, cut, or only described. */
function isWhole(value: unknown): boolean {
  if (typeof value !== 'string') return value === null || typeof value === 'number' || typeof value === 'boolean'
  return !value.includes(mask) && !value.includes('…') && !/^(?:text|binary|date)\b/.test(value)
}

/** How a system explains a statement. */
interface ExplainDialect {
  /** Begins a transaction that cannot write. */
  readonly begin: readonly string[]
  /** Explains a statement with unknown values; absent where the system cannot. */
  explainGenerically?(connection: ExplainConnection, query: ExplainableQuery): Promise<readonly object[]>
}

/**
 * MySQL and MariaDB compute some subqueries while they explain a statement: `FROM (SELECT sleep(1000) …)`.
 * Each has its own variable for the limit, and reads one of the two comments.
 */
const mysqlLimit = 'SET SESSION /*!50708 max_execution_time = 10000 */ /*M! max_statement_time = 10 */'

const mysql: ExplainDialect = { begin: ['START TRANSACTION READ ONLY', mysqlLimit] }

/** The systems whose queries can be explained. */
export const explainDialects: ReadonlyMap<string, ExplainDialect> = new Map([
  [
    'postgresql',
    {
      begin: ['BEGIN READ ONLY', `SET LOCAL statement_timeout = '10s'`],
      // EXPLAIN (GENERIC_PLAN) needs PostgreSQL 16; this has the same result since 12.
      async explainGenerically(connection, { statement, values }) {
        await connection.run('SET LOCAL plan_cache_mode = force_generic_plan', [])
        await connection.run(`PREPARE sinfonietta_explain AS ${statement}`, [])
        return connection.run(`EXPLAIN EXECUTE sinfonietta_explain(${values.map(() => 'NULL').join(', ')})`, [])
      },
    },
  ],
  ['mysql', mysql],
  ['mariadb', mysql],
])

/** The names of the values that are not known. */
export function findUnknown({ values }: ExplainableQuery): string[] {
  return values.filter(needed => !('value' in needed)).map(({ name }) => name)
}

/**
 * Explains a query without executing it, in a transaction that cannot write and is rolled back. Closes the connection.
 */
export async function explainQuery(
  query: ExplainableQuery,
  { begin, explainGenerically }: ExplainDialect,
  connection: ExplainConnection,
): Promise<readonly object[]> {
  try {
    for (const statement of begin) await connection.run(statement, [])
    try {
      const values = query.values.map(({ value }) => value)
      const isGeneric = explainGenerically !== undefined && findUnknown(query).length > 0
      return isGeneric
        ? await explainGenerically(connection, query)
        : await connection.run(`EXPLAIN ${query.statement}`, values)
    } finally {
      await connection.run('ROLLBACK', [])
    }
  } finally {
    await connection.close()
  }
}
