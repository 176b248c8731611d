import { isSecretName, mask } from '../redact/secret-names.ts'
import { readStatement, type Slot } from '../sql/statement.ts'
import { isCache, readTokens } from '../sql/tokens.ts'

/** Names under which libraries of databases attach the statement to its error, and its values. */
const statementNames: readonly string[] = ['sql', 'query', 'statement', 'internalQuery']
const valueNames: readonly string[] = ['parameters', 'params', 'values', 'bindings', 'args']

const textLimit = 10_000
const valueLimit = 100
const verbs: ReadonlySet<string> = new Set(
  (
    'SELECT INSERT UPDATE DELETE REPLACE MERGE UPSERT WITH VALUES TABLE CALL DO EXEC EXECUTE EXPLAIN PREPARE DECLARE BEGIN ' +
    'SET PRAGMA ATTACH COPY CREATE ALTER DROP TRUNCATE GRANT REVOKE NOTIFY'
  ).split(' '),
)

/** A statement that has failed, and its values. */
interface FailedStatement {
  readonly system: string
  readonly text: string
  readonly parameters?: readonly unknown[] | Readonly<Record<string, unknown>> | undefined
}

/** The reported statements of errors: most libraries do not attach them. */
const reported = new WeakMap<object, FailedStatement>()

/** Remembers the statement of an error, so that its values are masked wherever the error is shown. */
export function rememberStatement(error: unknown, statement: FailedStatement): void {
  if (typeof error === 'object' && error !== null) reported.set(error, statement)
}

/** What replaces the statement of an error. */
export interface ErrorStatement {
  /** A statement without its literals; empty if it is not known. */
  readonly shape: string
  /** Statements without their literals, and values with their names, by the names of the properties. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Values that may be secret: some libraries write them into the message, too. */
  readonly secrets: readonly unknown[]
}

/**
 * Reads the statement that was reported for an error of a database, or that its library has attached, or the command of a
 * cache; `undefined` for all other errors. The values of a statement get the names of their columns, so that a MaskingCopier
 * masks them; a value without a certain name is masked, and so are all arguments of a command. Calls no getter.
 */
export function readErrorStatement(error: object): ErrorStatement | undefined {
  const properties: Record<string, unknown> = {}
  const secrets: unknown[] = []
  readCommand(error, properties, secrets)
  let shape = readReported(reported.get(error), secrets)
  let slots: readonly Slot[] | undefined
  for (const name of statementNames) {
    const text = own(error, name)
    if (typeof text !== 'string') continue
    const begin = text.slice(0, textLimit)
    if (name !== 'sql' && !isStatement(begin)) continue
    const statement = readStatement(begin, '')
    if (name !== 'sql' && statement.slots.length === 0 && shape === '' && !hasValues(error) && !isOfDatabase(error))
      continue
    properties[name] = statement.shape
    shape += ` ${statement.shape}`
    slots ??= statement.slots
  }
  if (slots !== undefined) {
    secrets.push(...slots.filter(isSecret).map(({ literal }) => literal?.text))
    for (const name of valueNames) readValues(own(error, name), name, slots, properties, secrets)
  }
  const isKnown = shape !== '' || Object.keys(properties).length > 0 || isOfDatabase(error)
  return isKnown ? { shape, properties, secrets } : undefined
}

/** Adds the values of a reported statement that may be secret. Returns its shape. */
function readReported(statement: FailedStatement | undefined, secrets: unknown[]): string {
  if (statement === undefined) return ''
  const { parameters = [], system, text } = statement
  const values = Object.entries(parameters).slice(0, valueLimit)
  if (isCache(system)) {
    const [command = '', ...args] = text.slice(0, textLimit).split(' ')
    secrets.push(...args, ...values.map(([, value]) => value))
    return command
  }
  const { shape, slots } = readStatement(text.slice(0, textLimit), system)
  secrets.push(...slots.filter(isSecret).map(({ literal }) => literal?.text))
  for (const [name, value] of values) {
    const key = Array.isArray(parameters) ? Number(name) + 1 : name.replace(/^[:@$]/, '')
    if (isSecret(slots.find(slot => slot.key === key))) secrets.push(value)
  }
  return shape
}

/** Properties of the errors of MySQL; codes of those of SQLite and SQL Server; names of those of Redis and MongoDB. */
const ownProperties: readonly string[] = ['sqlState', 'sqlMessage']
const codeOfDatabase = /^(?:SQLITE_|ERR_SQLITE|EREQUEST$)/
const nameOfDatabase = /^(?:ReplyError|ErrorReply|SimpleError|Mongo(?:Bulk\w*|Server)Error)$/

/** A code of SQLSTATE. With a `severity` it is that of an error of PostgreSQL; linters have severities with other codes. */
const sqlState = /^(?=\D{0,4}\d)[\dA-Z]{5}$/

/** Whether an error is that of a database, which quotes values in its message. */
function isOfDatabase(error: object): boolean {
  if (ownProperties.some(name => typeof own(error, name) === 'string')) return true
  const code = String(own(error, 'code'))
  if (typeof own(error, 'severity') === 'string' && sqlState.test(code)) return true
  const type = own(Object(Object.getPrototypeOf(error)), 'constructor')
  return codeOfDatabase.test(code) || nameOfDatabase.test(String(own(Object(type), 'name')))
}

function own(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value
}

/** Whether the values of a statement are beside it: `query` may also be that of a search, such as `select shoes`. */
function hasValues(error: object): boolean {
  return valueNames.some(name => typeof (own(error, name) ?? '') === 'object')
}

/** Whether a text is a statement: `query` may also be that of a URL. Comments and brackets may be before the verb. */
function isStatement(text: string): boolean {
  const first = readTokens(text, '').find(({ text }) => text !== '(')
  return first?.kind === 'word' && verbs.has(first.text.toUpperCase())
}

/** The command of ioredis: any of its arguments may be a password, a session or a script with both. */
function readCommand(error: object, properties: Record<string, unknown>, secrets: unknown[]): void {
  const command = own(error, 'command')
  if (typeof command !== 'object' || command === null) return
  const args = own(command, 'args')
  if (!Array.isArray(args)) return
  secrets.push(...args.slice(0, valueLimit).filter(arg => typeof arg === 'string'))
  properties.command = { name: own(command, 'name'), args: args.length === 0 ? [] : mask }
}

/** Adds the values of a statement. They are a list, or an object with the names of the placeholders. */
function readValues(
  values: unknown,
  property: string,
  slots: readonly Slot[],
  properties: Record<string, unknown>,
  secrets: unknown[],
): void {
  if (typeof values !== 'object' || values === null) return
  const names = Object.keys(values).slice(0, valueLimit)
  properties[property] = names.map(name => {
    const [value, key] = [own(values, name), Array.isArray(values) ? Number(name) + 1 : name.replace(/^[:@$]/, '')]
    const slot = slots.find(slot => slot.key === key)
    if (!isSecret(slot)) return { name: slot?.name, value }
    secrets.push(value)
    return { name: slot?.name ?? (typeof key === 'number' ? `$${key}` : key), value: mask }
  })
}

/** A value without a name may be secret. */
function isSecret(slot: Slot | undefined): boolean {
  return slot?.name === undefined || isSecretName(slot.name)
}
