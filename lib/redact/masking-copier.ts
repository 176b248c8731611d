import { types } from 'node:util'
import { readProperty } from '../stack/read-property.ts'
import type { Redactor } from './redactor.ts'
import { mask, secretUnder } from './secret-names.ts'

/** How much is copied; what exceeds it is left out, and `…` stands in its place. */
export interface CopyBounds {
  /** Objects within objects. */
  readonly depth: number
  /** Properties and items, in all. */
  readonly entries: number
  /** Characters of one text. */
  readonly text: number
  /** Characters of all texts and names together; as many as the other bounds allow when nothing is said. */
  readonly total?: number
}

/** Makes plain data of an error; `mask` is applied to its texts. */
export type ErrorCopier = (error: object, mask: (text: string) => string) => unknown

/** A secret that a cut goes through would not be recognised, so texts are masked first, within this bound. */
const readLimit = 16_384

/**
 * Copies whatever it is given into plain data, masked and within bounds. Instances of classes are only named; getters
 * and `toJSON` are not called. Its bounds are for all that one copier copies. Never throws, except for the outermost
 * object of `record` and the iterable of `pairs`.
 */
export class MaskingCopier {
  readonly #redactor: Redactor
  readonly #bounds: CopyBounds
  readonly #copyError: ErrorCopier
  #entriesLeft: number
  #charactersLeft: number

  constructor(redactor: Redactor, bounds: CopyBounds, copyError: ErrorCopier) {
    this.#redactor = redactor
    this.#bounds = bounds
    this.#copyError = copyError
    this.#entriesLeft = bounds.entries
    this.#charactersLeft = bounds.total ?? Number.POSITIVE_INFINITY
  }

  /** Copies a value; the name says whether it is a secret. */
  value(name: string, value: unknown): unknown {
    return this.#copy(name, value, this.#bounds.depth)
  }

  /** Copies the properties of an object. */
  record(value: object): Record<string, unknown> {
    return this.#record(value, this.#bounds.depth)
  }

  /** Copies names and values, in their order and with those that come twice; values by `copy`, if that is given. */
  pairs(
    pairs: Iterable<readonly [string, unknown]>,
    copy?: (name: string, value: unknown) => unknown,
  ): [name: string, value: unknown][] {
    const copies: [string, unknown][] = []
    for (const [name, value] of pairs) {
      if (this.isSpent()) {
        copies.push(['…', '…'])
        break
      }
      copies.push([this.text(name), copy === undefined ? this.value(name, value) : copy(name, value)])
    }
    return copies
  }

  /** Takes the room of one entry; true when there is none left. For those who put a copy together themselves. */
  isSpent(): boolean {
    return this.#entriesLeft-- <= 0 || this.#charactersLeft <= 0
  }

  /** Masks a text, and cuts it. */
  text(text: string): string {
    const limit = Math.min(this.#bounds.text, this.#charactersLeft)
    const masked = cut(this.#redactor.text(text.slice(0, readLimit)), limit)
    this.#charactersLeft -= masked.length
    return masked
  }

  #record(value: object, depth: number): Record<string, unknown> {
    const copies: Record<string, unknown> = {}
    const named = secretUnder(value, this.#redactor.isSecret)
    for (const name of Object.keys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, name)
      const own = property?.get ? '[getter]' : property?.value
      if (!this.#put(copies, name, name === named && own !== '' ? mask : own, depth)) break
    }
    return copies
  }

  /** A key that is an object is named by its class. */
  #map(map: ReadonlyMap<unknown, unknown>, depth: number): Record<string, unknown> {
    const copies: Record<string, unknown> = {}
    for (const [key, value] of map) {
      const name = typeof key === 'object' && key !== null ? `[${classOf(key)}]` : String(key)
      if (!this.#put(copies, name, value, depth)) break
    }
    return copies
  }

  #put(copies: Record<string, unknown>, name: string, value: unknown, depth: number): boolean {
    const isSpent = this.isSpent()
    const key = isSpent ? '…' : this.text(name)
    const copy = isSpent ? '…' : this.#copy(name, value, depth)
    // Assigned, it would become the prototype.
    if (key === '__proto__') Object.defineProperty(copies, key, { value: copy, enumerable: true })
    else copies[key] = copy
    return !isSpent
  }

  #list(values: Iterable<unknown>, depth: number): unknown[] {
    const copies: unknown[] = []
    for (const value of values) {
      if (this.isSpent()) {
        copies.push('…')
        break
      }
      copies.push(this.#copy('', value, depth))
    }
    return copies
  }

  #copy(name: string, value: unknown, depth: number): unknown {
    if (value === undefined || value === null || value === '') return value
    if (this.#redactor.isSecret(name)) return mask
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'boolean' || Number.isFinite(value)) return value
    if (typeof value === 'function') return '[function]'
    if (typeof value !== 'object') return String(value)
    try {
      return this.#copyObject(value, depth)
    } catch {
      // Somebody's own iterator, or a prototype that is a proxy.
      return '[unreadable]'
    }
  }

  #copyObject(value: object, depth: number): unknown {
    if (types.isProxy(value)) return '[Proxy]'
    if (types.isNativeError(value) || value instanceof Error) return this.#copyError(value, text => this.text(text))
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL) return this.text(value.href)
    if (depth === 0) return '…'
    if (Array.isArray(value) || value instanceof Set) return this.#list(value, depth - 1)
    if (value instanceof Map) return this.#map(value, depth - 1)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === null || prototype === Object.prototype) return this.#record(value, depth - 1)
    return `[${classOf(value)}]`
  }
}

/** Cuts a text, and says so by an ellipsis. */
export function cut(text: string, limit: number): string {
  if (text.length <= Math.max(limit, 0)) return text
  return limit <= 0 ? '…' : `${text.slice(0, limit - 1).toWellFormed()}…`
}

function classOf(value: object): unknown {
  return readProperty(readProperty(value, 'constructor'), 'name')
}
