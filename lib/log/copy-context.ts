import { types } from 'node:util'
import { flattenError } from '../errors/flatten.ts'
import { mask } from '../redact/mask-text.ts'
import type { Redactor } from '../redact/redactor.ts'
import { isSecretName } from '../redact/secret-names.ts'
import { readProperty } from '../stack/read-property.ts'
import { toLogError } from './log-error.ts'
import type { LogContext } from './logger.ts'

const depthLimit = 6
const entryLimit = 500
const stringLimit = 2048
/** A secret that a cut goes through would not be recognised, so texts are masked first, within this bound. */
const readLimit = 16_384

/**
 * Copies a context into plain data: masked, six levels deep, 500 entries in all, texts of at most 2,048 characters; `…`
 * stands for what is left out. Errors come with their stacks, instances of other classes are only named. Getters and
 * `toJSON` are not called.
 */
export function copyContext(context: LogContext, redactor: Redactor): Record<string, unknown> {
  try {
    return new Copier(redactor).record(context, depthLimit)
  } catch {
    // Proxies and overwritten iterators may throw; the message still deserves its record.
    return { '…': 'The context could not be read.' }
  }
}

/** Cuts a text, and says so by an ellipsis. */
export function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`
}

class Copier {
  readonly #redactor: Redactor
  #entriesLeft = entryLimit

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  record(value: object, depth: number): Record<string, unknown> {
    const properties = Object.entries(Object.getOwnPropertyDescriptors(value)).filter(
      ([, { enumerable }]) => enumerable,
    )
    return this.#pairs(
      properties.map(([name, property]) => [name, property.get ? '[getter]' : property.value]),
      depth,
    )
  }

  #pairs(pairs: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> {
    const copies: [string, unknown][] = []
    for (const [name, value] of pairs) {
      if (this.#entriesLeft-- <= 0) {
        copies.push(['…', '…'])
        break
      }
      copies.push([this.#text(String(name)), this.#copy(String(name), value, depth)])
    }
    return Object.fromEntries(copies)
  }

  #list(values: Iterable<unknown>, depth: number): unknown[] {
    const copies: unknown[] = []
    for (const value of values) {
      if (this.#entriesLeft-- <= 0) {
        copies.push('…')
        break
      }
      copies.push(this.#copy('', value, depth))
    }
    return copies
  }

  #copy(name: string, value: unknown, depth: number): unknown {
    if (value === undefined || value === null || value === '') return value
    if (isSecretName(name)) return mask
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'boolean' || Number.isFinite(value)) return value
    if (typeof value === 'function') return '[function]'
    if (typeof value !== 'object') return String(value)
    return this.#copyObject(value, depth)
  }

  #copyObject(value: object, depth: number): unknown {
    if (types.isProxy(value)) return '[Proxy]'
    if (types.isNativeError(value) || value instanceof Error) {
      // Where a client's mistake was noticed is no news, and reading a stack is costly.
      const isClientError = Number(readProperty(value, 'status')) < 500
      return toLogError(flattenError(value, { hasFrames: !isClientError }), text => this.#text(text))
    }
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL) return this.#text(value.href)
    if (depth === 0) return '…'
    if (Array.isArray(value) || value instanceof Set) return this.#list(value, depth - 1)
    if (value instanceof Map) return this.#pairs(value, depth - 1)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === null || prototype === Object.prototype) return this.record(value, depth - 1)
    return `[${readProperty(value.constructor, 'name')}]`
  }

  #text(text: string): string {
    return cut(this.#redactor.text(text.slice(0, readLimit)), stringLimit)
  }
}
