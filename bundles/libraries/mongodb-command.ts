import type { QueryParameters } from '../../kernel/contracts/queries.ts'

/** A command without its values, and its values by their paths. */
export interface CommandParts {
  /** Such as `find users { filter: { name: ? }, limit: ? }`. */
  readonly text: string
  readonly parameters: QueryParameters
}

/** Properties of a command that say nothing about what it does. */
const omitted: ReadonlySet<string> = new Set([
  ...['lsid', 'txnNumber', 'startTransaction', 'autocommit', 'ordered', 'writeConcern', 'readConcern'],
  ...['bypassDocumentValidation', 'cursor', 'comment', 'maxTimeMS', 'collection'],
])

/** Properties of all documents of a command that are read; a document may be a whole file. */
const propertyLimit = 200
const depthLimit = 8
const textLimit = 5000

/** Separates a command of MongoDB from its values. */
export function readCommand(command: Readonly<Record<string, unknown>>): CommandParts {
  const [name = '', ...others] = Object.keys(command)
  const { [name]: target, collection, key } = command
  // `getMore` has its cursor there.
  const known = [target, collection].find(value => typeof value === 'string')
  // What `distinct` reads is the name of a property, not a value.
  const isDistinct = name === 'distinct' && typeof key === 'string'
  const place = isDistinct ? `${known}.${key}` : known
  const values = new CommandValues()
  const properties = others
    .filter(property => !omitted.has(property) && !(isDistinct && property === 'key'))
    .map(property => [property, command[property]] as const)
  const shape = properties.length === 0 ? '' : ` ${values.describeProperties(properties, '', 0)}`
  const text = `${name}${place === undefined ? '' : ` ${place}`}${shape}`
  return { text: text.slice(0, textLimit), parameters: Object.fromEntries(values.found) }
}

class CommandValues {
  /** The paths of the values, and the values. */
  readonly found: [path: string, value: unknown][] = []
  #left = propertyLimit

  describeProperties(properties: readonly (readonly [string, unknown])[], path: string, depth: number): string {
    const parts: string[] = []
    for (const [name, value] of properties) {
      if (this.#left-- <= 0) {
        parts.push('…')
        break
      }
      parts.push(`${name}: ${this.#describe(value, path === '' ? name : `${path}.${name}`, depth + 1)}`)
    }
    return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  }

  #describe(value: unknown, path: string, depth: number): string {
    if (depth <= depthLimit) {
      const list = listOf(value)
      if (list?.some(isDocument)) return this.#describeList(list, path, depth)
      if (isDocument(value)) return this.describeProperties(entriesOf(value), path, depth)
    }
    this.found.push([path, toPlain(value)])
    return '?'
  }

  /** Documents with the same properties, such as those of an insertion, are written once. */
  #describeList(list: readonly unknown[], path: string, depth: number): string {
    const parts: string[] = []
    for (const [index, item] of list.entries()) {
      if (this.#left <= 0) break
      const shape = this.#describe(item, index === 0 ? path : `${path}.${index}`, depth + 1)
      if (shape !== parts.at(-1)) parts.push(shape)
    }
    return `[${parts.join(', ')}]`
  }
}

/** The items of a list, also of one whose bytes the library has prepared. */
function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  const { chunks, documents } = Object(value) as { readonly chunks?: unknown; readonly documents?: unknown }
  return Array.isArray(chunks) && Array.isArray(documents) ? documents : undefined
}

/** Whether a value has properties of the application: values of BSON, such as an id, are classes. */
function isDocument(value: unknown): value is object {
  if (value instanceof Map) return true
  if (typeof value !== 'object' || value === null) return false
  const { _bsontype: type } = value as { readonly _bsontype?: unknown }
  const isValue = value instanceof Date || value instanceof RegExp || ArrayBuffer.isView(value)
  return type === undefined && !isValue && !Array.isArray(value)
}

function entriesOf(document: object): readonly (readonly [string, unknown])[] {
  if (document instanceof Map) return [...document]
  // A getter of the application is not called.
  const own = Object.entries(Object.getOwnPropertyDescriptors(document))
  return own.filter(([, { enumerable }]) => enumerable).map(([name, { value }]) => [name, value])
}

/** A value of BSON as it is written: the hexadecimal digits of an id. */
function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain)
  if (value instanceof RegExp) return String(value)
  const { _bsontype: type, buffer } = Object(value) as { readonly _bsontype?: unknown; readonly buffer?: unknown }
  if (type === undefined) return value
  return type === 'Binary' && ArrayBuffer.isView(buffer) ? buffer : String(value)
}
