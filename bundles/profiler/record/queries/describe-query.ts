import type { QueryParameters, QueryStart } from '../../../../kernel/queries.ts'
import { MaskingCopier } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask, namingKeys, valueKeys } from '../../../../lib/redact/secret-names.ts'
import { isCache } from '../../../../lib/sql/conventions.ts'
import { readStatement, type Slot, type SqlStatement } from '../../../../lib/sql/statement.ts'
import { TextMemo } from '../../../../lib/text/text-memo.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { DescribedQuery } from '../query-trace.ts'
import { describeList, describeText, ValueSummary } from './captured-values.ts'
import { describeCommand } from './describe-command.ts'

/** Pairs of one query. */
const pairLimit = 100
const valueBounds = { depth: 4, entries: 200, text: 500, total: 8000 }

/** A value of a query, with the names that the statement and its author give it. */
interface NamedValue {
  /** Empty where no name is known. */
  readonly names: readonly string[]
  /** The name without another one: `$1`, `2`. */
  readonly place: string
  readonly value: unknown
}

/**
 * Turns captured queries into data that may be stored. The literals of a statement become parameters. A parameter with a
 * secret name is masked; a text without a name, or of a table with a secret name, keeps its type and its length.
 */
export class QueryDescriber {
  readonly #redactor: Redactor
  /** Statements without literals: the same ones come with each request. */
  readonly #statements = new TextMemo<SqlStatement>(500, 2000)

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  describe({ namespace, parameters, server, system, text }: QueryStart): Omit<DescribedQuery, 'twin'> {
    const place = {
      namespace: namespace === undefined ? undefined : this.#redactor.text(namespace),
      server: server === undefined ? undefined : this.#redactor.text(withoutUser(server)),
    }
    if (isCache(system)) return { ...place, text: describeCommand(text, parameters, this.#redactor) }
    const statement = this.#read(text, system)
    const values = nameValues(statement, parameters ?? [], system)
    return {
      ...place,
      text: statement.shape,
      parameters: values.length === 0 ? undefined : this.#mask(values, statement),
    }
  }

  /** Whether the values of all placeholders are known: by default, instrumentations do not report them. */
  hasAllValues({ parameters = [], system, text }: QueryStart): boolean {
    if (isCache(system)) return true
    const given = new Map(Object.entries(parameters))
    return this.#read(text, system).slots.every(({ key }) => key === undefined || findKey(given, key) !== undefined)
  }

  #read(text: string, system: string): SqlStatement {
    const key = `${system} ${text}`
    let statement = this.#statements.get(key)
    if (statement === undefined) {
      statement = readStatement(text, system)
      // Literals may be secrets, which are not kept.
      if (statement.slots.every(({ literal }) => literal === undefined)) this.#statements.set(key, statement)
    }
    return statement
  }

  #mask(values: readonly NamedValue[], { tables }: SqlStatement): Pairs {
    const { isSecret } = this.#redactor
    const isSecretTable = tables.some(isSecret)
    // `name = 'smtp_password' AND value = …`: one value names the other.
    const namesSecret = values.some(
      ({ names, value }) => names.some(name => namingKeys.includes(name.toLowerCase())) && isSecret(String(value)),
    )
    const copier = new MaskingCopier(this.#redactor, valueBounds)
    const pairs = values.slice(0, pairLimit).map(({ names, place, value }): Pairs[number] => {
      const [shown = place] = names
      const isNamed = names.length > 0
      const isMasked =
        names.some(isSecret) || (namesSecret && names.some(name => valueKeys.includes(name.toLowerCase())))
      if (isMasked && value !== null && value !== undefined) return [shown, mask]
      return [shown, isNamed && !isSecretTable ? showValue(value, copier) : summarize(value)]
    })
    return values.length > pairLimit ? [...pairs, ['…', '…']] : pairs
  }
}

/** The values of a statement in their order: literals and parameters, each once; then parameters that it does not name. */
function nameValues({ slots }: SqlStatement, parameters: QueryParameters, system: string): NamedValue[] {
  const given = new Map(Object.entries(parameters))
  const isByPosition = Array.isArray(parameters)
  const values = new Map<string, { names: string[]; place: string; value: unknown }>()
  for (const [index, slot] of slots.entries()) {
    const { key, literal, name } = slot
    const found = key === undefined ? undefined : findKey(given, key)
    if (literal === undefined && found === undefined) continue
    const id = found ?? `literal ${index}`
    const value = literal === undefined ? given.get(String(found)) : toValue(literal)
    const known = values.get(id) ?? { names: [], place: placeOf(slot, index, system), value }
    if (name !== undefined) known.names.push(name)
    if (typeof key === 'string') known.names.push(key)
    values.set(id, known)
  }
  for (const [key, value] of given) {
    if (values.has(key)) continue
    const place = isByPosition ? `${Number(key) + 1}` : key
    values.set(key, { names: isByPosition ? [] : [key], place, value })
  }
  return [...values.values()]
}

/** The key under which a parameter is given. Names may be given with the sign of the placeholder. */
function findKey(given: ReadonlyMap<string, unknown>, key: number | string): string | undefined {
  const forms = typeof key === 'number' ? [`${key - 1}`] : [key, `:${key}`, `$${key}`, `@${key}`]
  return forms.find(form => given.has(form))
}

function placeOf({ key }: Slot, index: number, system: string): string {
  if (key === undefined) return `${index + 1}`
  return system === 'postgresql' ? `$${key}` : `${key}`
}

function toValue({ kind, text }: NonNullable<Slot['literal']>): unknown {
  const number = Number(text)
  return kind === 'number' && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text
}

/** A value whose name is known, and is not secret. */
function showValue(value: unknown, copier: MaskingCopier): unknown {
  return value instanceof ValueSummary ? (value.copy ?? value.text) : copier.value('', value)
}

/** The type and the size of a value that may be secret. Numbers and booleans are shown. */
function summarize(value: unknown): unknown {
  if (typeof value === 'string') return describeText(value)
  if (value instanceof ValueSummary) return value.text
  if (value instanceof Date) return 'date'
  // Attributes of spans may be lists.
  if (Array.isArray(value)) return describeList(value)
  return typeof value === 'bigint' ? String(value) : value
}

/** A server without the scheme, the user and the password of a connection string. */
function withoutUser(server: string): string {
  const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(server)
  const isPath = server.startsWith('/')
  const place = isPath ? server : server.slice(server.lastIndexOf('@') + 1).replace(/^[a-z][a-z\d+.-]*:\/\//i, '')
  return isUrl ? place.replace(/\?.*$/s, '') : place
}
