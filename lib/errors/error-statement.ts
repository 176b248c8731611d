import { isSecretName, mask } from '../redact/secret-names.ts'
import { readStatement, type Slot } from '../sql/statement.ts'
import { readTokens } from '../sql/tokens.ts'

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

/** What replaces the statement of an error. */
export interface ErrorStatement {
  /** Statements without their literals, and values with their names, by the names of the properties. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Values that may be secret: some libraries write them into the message, too. */
  readonly secrets: readonly unknown[]
}

/**
 * Reads the statement that a library of a database has attached to its error, or the command of a cache; `undefined`
 * without one. The values of a statement get the names of their columns, so that a MaskingCopier masks them; a value
 * without a certain name is masked, and so are all arguments of a command. Calls no getter.
 */
export function readErrorStatement(error: object): ErrorStatement | undefined {
  const properties: Record<string, unknown> = {}
  const secrets: unknown[] = []
  readCommand(error, properties, secrets)
  let slots: readonly Slot[] | undefined
  for (const name of statementNames) {
    const text = own(error, name)
    if (typeof text !== 'string') continue
    const begin = text.slice(0, textLimit)
    if (name !== 'sql' && !isStatement(begin)) continue
    const statement = readStatement(begin, '')
    properties[name] = statement.shape
    slots ??= statement.slots
  }
  if (slots !== undefined) {
    secrets.push(...slots.filter(isSecret).map(({ literal }) => literal?.text))
    for (const name of valueNames) readValues(own(error, name), name, slots, properties, secrets)
  }
  return Object.keys(properties).length === 0 ? undefined : { properties, secrets }
}

function own(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value
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
