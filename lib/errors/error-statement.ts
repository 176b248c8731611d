import { isSecretName, mask } from '../redact/secret-names.ts'
import { readStatement, type Slot } from '../sql/statement.ts'

/** Names under which libraries of databases attach the statement to its error, and its values. */
const statementNames: readonly string[] = ['sql', 'query', 'statement', 'internalQuery']
const valueNames: readonly string[] = ['parameters', 'params', 'values', 'bindings']

const textLimit = 10_000
const valueLimit = 100
const verb = /^\s*(?:select|insert|update|delete|replace|merge|with|call|set|create|alter)\b/i

/** What replaces the statement of an error. */
export interface ErrorStatement {
  /** Statements without their literals, and values with their names, by the names of the properties. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Values that may be secret: some libraries write them into the message, too. */
  readonly secrets: readonly unknown[]
}

/**
 * Reads the statement that a library of a database has attached to its error; `undefined` without one. Its values get the
 * names of their columns, so that a MaskingCopier masks them; a value without a certain name is masked. Calls no getter.
 */
export function readErrorStatement(error: object): ErrorStatement | undefined {
  let slots: readonly Slot[] | undefined
  const properties: Record<string, unknown> = {}
  for (const name of statementNames) {
    const text: unknown = Object.getOwnPropertyDescriptor(error, name)?.value
    if (typeof text !== 'string' || !verb.test(text)) continue
    const statement = readStatement(text.slice(0, textLimit), '')
    properties[name] = statement.shape
    slots ??= statement.slots
  }
  if (slots === undefined) return undefined
  const secrets: unknown[] = slots.filter(isSecret).map(({ literal }) => literal?.text)
  for (const name of valueNames) {
    const values: unknown = Object.getOwnPropertyDescriptor(error, name)?.value
    if (!Array.isArray(values)) continue
    const named = values.slice(0, valueLimit).map((value, index) => {
      const slot = slots.find(({ key }) => key === index + 1)
      if (!isSecret(slot)) return { name: slot?.name, value }
      secrets.push(value)
      return { name: slot?.name ?? `$${index + 1}`, value: mask }
    })
    properties[name] = named
  }
  return { properties, secrets }
}

/** A value without a name may be secret. */
function isSecret(slot: Slot | undefined): boolean {
  return slot?.name === undefined || isSecretName(slot.name)
}
