import { types } from 'node:util'
import { describeError } from '../errors/flat-error.ts'
import { isPlainObject } from '../text/describe-value.ts'
import { maskChildWords } from './mask-child-words.ts'
import { stripColors } from './mask-text.ts'
import { isFact } from './prose.ts'
import { mask, maskIssue, type NameTest, readData, secretsUnder, secretVariables } from './secret-names.ts'

/** The limits of a copy. `…` replaces everything beyond them. */
export interface CopyBounds {
  /** Levels of objects within objects. */
  readonly depth: number
  /** Properties and items, in all. */
  readonly entries: number
  /** Characters of one text. */
  readonly text: number
  /** Characters of all texts and names together; no limit by default. */
  readonly total?: number
}

/** The limits of the properties of an error and its causes, all together. */
export const propertyBounds: CopyBounds = { depth: 5, entries: 200, text: 2000, total: 16_384 }

/** Masks texts and recognises secret names; a Redactor does. */
export interface TextMasker {
  text(text: string): string
  readonly isSecret: NameTest
}

/** Turns an error into plain data; `mask` masks and cuts a text. `masker` is that of the copier. */
type ErrorCopier = (error: object, mask: (text: string) => string, masker: TextMasker) => unknown

/**
 * Characters of a text that are read when the text will be cut. Texts are masked before they are cut, because half a
 * secret would not be recognised.
 */
const readLimit = 16_384

/** Characters where reading ends that are dropped: half a secret would not be recognised. */
const margin = 4096

/**
 * Copies any value into plain data, masked and within bounds: the one deep copier for logs and profiles. Of an instance
 * of a class only the class name is copied, of an error its name and message by default. No getter and no `toJSON` is
 * called. The bounds hold for everything that one copier copies. Never throws, except for a proxy that is passed to
 * `record` and an iterable of `pairs` that throws.
 */
export class MaskingCopier {
  readonly #masker: TextMasker
  readonly #bounds: CopyBounds
  readonly #copyError: ErrorCopier
  #entriesLeft: number
  #charactersLeft: number

  constructor(masker: TextMasker, bounds: CopyBounds, copyError: ErrorCopier = describeError) {
    this.#masker = masker
    this.#bounds = bounds
    this.#copyError = copyError
    this.#entriesLeft = bounds.entries
    this.#charactersLeft = bounds.total ?? Number.POSITIVE_INFINITY
  }

  /** Copies a value. A secret name masks all of it. */
  value(name: string, value: unknown): unknown {
    return this.#copy(name, value, this.#bounds.depth)
  }

  /** Copies the properties of an object. */
  record(value: object): Record<string, unknown> {
    return this.#properties(value, this.#bounds.depth)
  }

  /** Copies names and values in their order, repeated names included. `copy` copies the values; `value` by default. */
  pairs(
    pairs: Iterable<readonly [string, unknown]>,
    copy: (name: string, value: unknown) => unknown = (name, value) => this.value(name, value),
  ): [name: string, value: unknown][] {
    const copies: [string, unknown][] = []
    for (const [name, value] of pairs) {
      if (this.isSpent()) {
        copies.push(['…', '…'])
        break
      }
      copies.push([this.text(name), copy(name, value)])
    }
    return copies
  }

  /** Takes the room of one entry; true when there is none left. For callers that build a copy themselves. */
  isSpent(): boolean {
    return this.#entriesLeft-- <= 0 || this.#charactersLeft <= 0
  }

  /** Masks a text, then cuts it. */
  text(text: string): string {
    const limit = Math.min(this.#bounds.text, this.#charactersLeft)
    const masked = maskAndCut(text, limit, this.#masker)
    this.#charactersLeft -= masked.length
    return masked
  }

  /** Not by `propertiesOf`: an iterator and its results cost more than the copy of a small object. */
  #properties(given: object, depth: number): Record<string, unknown> {
    const value = maskIssue(given, this.#masker.isSecret)
    const named = secretsUnder(value, this.#masker.isSecret)
    const copies: Record<string, unknown> = {}
    for (const name of Object.keys(value))
      if (!this.#add(copies, name, readOwn(value, name, named, this.#masker), depth)) break
    return copies
  }

  #pairs(map: ReadonlyMap<unknown, unknown>, depth: number): Record<string, unknown> {
    const copies: Record<string, unknown> = {}
    for (const [name, value] of pairsOf(map)) if (!this.#add(copies, name, value, depth)) break
    return copies
  }

  /** Copies a named value; false if there was no room. */
  #add(copies: Record<string, unknown>, name: string, value: unknown, depth: number): boolean {
    const isSpent = this.isSpent()
    const key = isSpent ? '…' : this.text(name)
    const copy = isSpent ? '…' : this.#copy(name, value, depth)
    // An assignment would set the prototype.
    if (key === '__proto__') Object.defineProperty(copies, key, { value: copy, enumerable: true })
    else copies[key] = copy
    return !isSpent
  }

  #list(items: Entries, depth: number): unknown[] {
    const copies: unknown[] = []
    for (const [, value] of items) {
      const isSpent = this.isSpent()
      copies.push(isSpent ? '…' : this.#copy('', value, depth, true))
      if (isSpent) break
    }
    return copies
  }

  #copy(name: string, value: unknown, depth: number, isItem = false): unknown {
    if (value === undefined || value === null || value === '') return value
    if (this.#masker.isSecret(name) && !isFact(name, value)) return mask
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'boolean' || Number.isFinite(value)) return value
    if (typeof value === 'function') return '[function]'
    if (typeof value !== 'object') return String(value)
    if (isNote(value)) return value.text
    try {
      return this.#copyObject(value, depth, namingOf(name, value, isItem))
    } catch {
      // An iterator of the application or a proxy as prototype has thrown.
      return '[unreadable]'
    }
  }

  #copyObject(value: object, depth: number, naming: Naming): unknown {
    if (types.isProxy(value)) return '[Proxy]'
    if (types.isNativeError(value) || value instanceof Error)
      return this.#copyError(value, text => this.text(text), this.#masker)
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL) return this.text(value.href)
    if (depth === 0) return '…'
    if (isList(value)) return this.#list(itemsOf(value, naming, this.#masker), depth - 1)
    if (types.isMap(value)) return this.#pairs(value, depth - 1)
    if (isPlainObject(value)) return this.#properties(value, depth - 1)
    return `[${classOf(value)}]`
  }
}

/** Names and values. */
export type Entries = Iterable<readonly [name: string, value: unknown]>

export function isList(value: unknown): value is readonly unknown[] | ReadonlySet<unknown> {
  return Array.isArray(value) || types.isSet(value)
}

/**
 * The properties of an object. Other properties may show that one is a secret, which is a note
 * then. No getter is called.
 */
export function* propertiesOf(given: object, masker: TextMasker): Generator<[string, unknown]> {
  const value = maskIssue(given, masker.isSecret)
  const named = secretsUnder(value, masker.isSecret)
  for (const name of Object.keys(value)) yield [name, readOwn(value, name, named, masker)]
}

/** The items of a list by their indexes. A secret behind its name is a note. */
export function* itemsOf(
  list: readonly unknown[] | ReadonlySet<unknown>,
  naming: Naming,
  masker: TextMasker,
): Generator<[string, unknown]> {
  let index = 0
  let before: unknown
  for (const item of Array.isArray(list) ? list.keys() : Set.prototype.values.call(list)) {
    const property = Array.isArray(list) ? Object.getOwnPropertyDescriptor(list, index) : { value: item }
    const value: unknown = property?.get ? getter : property?.value
    yield [String(index++), isNamedBefore(before, value, masker, naming) ? secret : value]
    before = value
  }
}

/** The pairs of a map. A key that is an object is named by its class. */
export function* pairsOf(map: ReadonlyMap<unknown, unknown>): Generator<[string, unknown]> {
  for (const [key, value] of Map.prototype.entries.call(map))
    yield [typeof key === 'object' && key !== null ? `[${classOf(key)}]` : String(key), value]
}

/** The name of the class of an object, without a call of its code. */
export function classOf(value: object): string {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null) return '[no prototype]'
  return functionName(readData(prototype, 'constructor')) || 'Object'
}

/** The name of a function, without a call of its code; empty for another value. */
export function functionName(value: unknown): string {
  const name = typeof value === 'function' ? readData(value, 'name') : undefined
  return typeof name === 'string' ? name : ''
}

/**
 * How an item of a list names the next one: `pair` as a key does, `said` and `item` as a text
 * does. Many items are ordinary words.
 */
export type Naming = 'pair' | 'said' | 'item'

/** A pair is a list of two within another list. Node has names and values of headers in turn. */
export function namingOf(name: string, list: object, isItem: boolean): Naming {
  const isPair = isItem && Array.isArray(list) && list.length === 2
  return isPair || /^raw(?:Headers|Trailers)$/.test(name) ? 'pair' : 'item'
}

/** A name at the end of a text, and the mark behind it. */
const label = /([\w.$-]{1,100})["'`)\]]{0,2}(?: is| was)?\s{0,9}(=>|->|→|<-|[:=|])?$/
const ordinaryItem = /^(?:[A-Za-z_]+|[/:][\w/:{}.-]*)$/

/**
 * Whether a value is a secret because the value before it is its name, as it would be in a text: `password: x`,
 * `--token x`. It is the one rule for lists of names and values, arguments of the console, and command lines.
 */
export function isNamedBefore(before: unknown, value: unknown, masker: TextMasker, naming: Naming): boolean {
  if (typeof before !== 'string' || value === '' || value === null || value === undefined) return false
  const text = stripColors(before.slice(-200)).trim()
  const [, name = '', mark = ''] = label.exec(text) ?? []
  if (name === '' || !masker.isSecret(name)) return false
  if (naming === 'pair') return true
  if (text.startsWith('-')) return typeof value === 'string' && !value.startsWith('-') && !text.includes('=')
  if (typeof value === 'object') return mark !== '' && !types.isNativeError(value) && !(value instanceof Error)
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return false
  const shown = stripColors(String(value).slice(0, 200))
  if (naming === 'item' && mark === '' && (typeof value !== 'string' || ordinaryItem.test(shown))) return false
  const line = mark === '' && !/\s/.test(text) ? `${name}: ${shown}` : `${text} ${shown}`
  return masker.text(line) !== line
}

/**
 * Masks the secrets in the arguments of a command line: `--token=abc`, `--token abc`,
 * `mysql -pabc`, and all that `text` masks.
 */
export function maskCommandLine(values: readonly string[], masker: TextMasker): string[] {
  const copies: string[] = []
  for (const [index, value] of values.entries()) {
    const before = values[index - 1]
    const isOption = value.startsWith('-') || before?.startsWith('-') === true
    const line = isOption ? `${[...copies.slice(0, 2), ...copies.slice(2).slice(-1)].join(' ')} ` : ''
    const masked = masker.text(line + value)
    const copy = masked.startsWith(line) ? masked.slice(line.length) : masker.text(value)
    // `sshpass` is a program here: an option of one letter has its value behind it.
    const isNamed = !/^-\w$/.test(value) && isNamedBefore(before, value, masker, 'item')
    copies.push(isNamed ? mask : copy)
  }
  return copies
}

/** A text that is shown instead of a value. */
interface Note {
  readonly kind: 'note'
  readonly text: string
}

export const secret: Note = { kind: 'note', text: mask }
export const getter: Note = { kind: 'note', text: '[getter]' }

/** Whether an entry is a note instead of a value. No value of the application is one of these two objects. */
export function isNote(value: unknown): value is Note {
  return value === secret || value === getter
}

/**
 * Reads a property of an object, without a call of a getter. It is a note if other properties show that it is a
 * secret: names beside values (`named`), columns of a table, variables of GraphQL, and arguments of a child process.
 */
export function readOwn(object: object, name: string, named: readonly string[], masker: TextMasker): unknown {
  const property = Object.getOwnPropertyDescriptor(object, name)
  if (property?.get !== undefined || property?.set !== undefined) return getter
  const value: unknown = property?.value
  if (value !== '' && named.includes(name)) return secret
  if (typeof value !== 'object') return value
  if (name === 'spawnargs') return maskSpawnArguments(object, value, masker)
  if (name === 'rows' || name === 'values') return maskRows(object, value, masker.isSecret)
  return name === 'variables' ? hide(value, secretVariables(readData(object, 'query'), masker.isSecret)) : value
}

/** The arguments of a child process, by the property of Node, are masked as a command line. */
function maskSpawnArguments(object: object, value: unknown, masker: TextMasker): unknown {
  if (!Array.isArray(value) || !value.every(each => typeof each === 'string')) return value
  const program = readData(object, 'path') ?? readData(object, 'spawnfile')
  return maskChildWords(maskCommandLine([String(program ?? ''), ...value], masker)).slice(1)
}

/** The names of columns: `{ columns: ['user', 'password'], rows: [['ada', 'x']] }`, `fields: [{ name: 'user' }]`. */
function maskRows(object: object, rows: unknown, isSecret: NameTest): unknown {
  const columns = ['columns', 'fields', 'headers'].map(name => readData(object, name)).find(Array.isArray)
  if (!Array.isArray(columns) || !Array.isArray(rows)) return rows
  const names = columns.map(column =>
    String(typeof column === 'object' && column !== null ? readData(column, 'name') : column),
  )
  const secrets = Object.keys(names).filter(at => isSecret(names[Number(at)] ?? ''))
  // One row may be the whole list.
  if (!rows.some(Array.isArray) && rows.length === names.length) return hide(rows, secrets)
  return rows.map((row: unknown) => (Array.isArray(row) ? hide(row, secrets) : row))
}

/** The object or list without some of its values. */
function hide(value: unknown, names: readonly string[]): unknown {
  const own = typeof value === 'object' && value !== null ? names.filter(name => Object.hasOwn(value, name)) : []
  if (own.length === 0) return value
  const hidden = Object.fromEntries(own.map(name => [name, { value: secret, enumerable: true }]))
  const properties = { ...Object.getOwnPropertyDescriptors(value), ...hidden }
  return Object.defineProperties(Array.isArray(value) ? [] : {}, properties)
}

/** Masks the beginning of a text, then cuts it. A beginning that becomes short is cut before its limit. */
export function maskAndCut(text: string, limit: number, masker: Pick<TextMasker, 'text'>): string {
  const read = Math.max(readLimit, limit + margin)
  const masked = masker.text(text.slice(0, read))
  return cut(text.length <= read ? masked : `${masked.slice(0, -margin).toWellFormed()}…`, limit)
}

/** Cuts a text to `limit` characters, the last of which is then an ellipsis. */
export function cut(text: string, limit: number): string {
  if (text.length <= Math.max(limit, 0)) return text
  return limit <= 0 ? '…' : `${text.slice(0, limit - 1).toWellFormed()}…`
}
