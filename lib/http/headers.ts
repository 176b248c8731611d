import { ARGUMENT_INVALID, checkString } from '../errors/arguments.ts'
import { describeValue, isKeyed } from '../text/describe-value.ts'
import { HTTP_HEADER_INVALID } from './errors.ts'

/** The sources of headers: a record, or pairs of name and value. */
export type HeadersInit = Headers | Readonly<Record<string, string>> | Iterable<readonly [string, string]>

/**
 * Replaces all fields of a name by one, without a check of the name and the value: the check of a
 * value costs as much as all the rest. Not for values that come from outside.
 */
export let setChecked: (headers: Headers, name: string, value: string) => void

/**
 * A list of header fields. Names are compared without case; order, spelling and duplicates are
 * preserved. Members are named as in the Fetch API. Names and values are checked when they are set
 * (RFC 9110, section 5), not when they are sent.
 */
export class Headers implements Iterable<[string, string]> {
  static {
    setChecked = (headers, name, value) => headers.#set(name, value)
  }

  /**
   * Names and values in turn, as node:http reads and writes them: names at even indexes, each followed by its value.
   */
  #fields: string[]
  /** Whether the fields are those of a parser, which this class has not checked. */
  #isParsed = false
  #revision = 0

  constructor(init?: HeadersInit) {
    const isChecked = init instanceof Headers && !init.#isParsed
    this.#fields = isChecked ? [...init.#fields] : []
    if (init === undefined || isChecked) return
    if (!isKeyed(init) && !(Object(init) === init && isIterable(init))) {
      throw new ARGUMENT_INVALID(['new Headers()', `they are an object or pairs, not ${describeValue(init)}`])
    }
    for (const pair of isIterable(init) ? init : Object.entries(init)) {
      if (!Array.isArray(pair))
        throw new ARGUMENT_INVALID(['new Headers()', `each pair is [name, value], not ${describeValue(pair)}`])
      this.append(pair[0], pair[1])
    }
  }

  /**
   * Wraps fields that a parser has already checked. The array is used, not copied. A copy checks
   * them: it may be sent. Fields that Node has sent, `areSent`, are checked.
   */
  static fromRaw(fields: string[], areSent = false): Headers {
    const headers = new Headers()
    headers.#fields = fields
    headers.#isParsed = !areSent
    return headers
  }

  /** Grows with every change, so that two moments can be compared cheaply. */
  get revision(): number {
    return this.#revision
  }

  /** The number of fields, duplicates included. */
  get size(): number {
    return this.#fields.length / 2
  }

  /**
   * The value, or several values joined by a comma, those of Cookie by a semicolon (RFC 9113,
   * section 8.2.3). `null` without such a field.
   */
  get(name: string): string | null {
    const first = this.#find(name, 0)
    if (first === -1) return null
    if (this.#find(name, first + 2) === -1) return this.#value(first)
    return this.getAll(name).join(name.toLowerCase() === 'cookie' ? '; ' : ', ')
  }

  /** Each value of a field, in order. */
  getAll(name: string): string[] {
    const values: string[] = []
    for (let at = this.#find(name, 0); at !== -1; at = this.#find(name, at + 2)) values.push(this.#value(at))
    return values
  }

  /** Whether there is a field with the name, in any case. */
  has(name: string): boolean {
    return this.#find(name, 0) !== -1
  }

  /** Replaces all fields of a name by one. */
  set(name: string, value: string): void {
    this.#set(name, check(name, value))
  }

  #set(name: string, value: string): void {
    const first = this.#find(name, 0)
    this.#revision++
    if (first === -1) this.#fields.push(name, value)
    else {
      this.#fields[first + 1] = value
      this.#remove(name, first + 2)
    }
  }

  /** Adds a field. Other fields of its name stay. */
  append(name: string, value: string): void {
    this.#fields.push(name, check(name, value))
    this.#revision++
  }

  /** Adds the fields of other headers whose names are missing here. */
  addMissing(defaults: Headers): void {
    const others = defaults.#fields
    const size = this.#fields.length
    for (let at = 0; at < others.length; at += 2) {
      const name = others[at] as string
      const value = others[at + 1] as string
      if (this.#find(name, 0) === -1) this.#fields.push(name, defaults.#isParsed ? check(name, value) : value)
    }
    if (this.#fields.length > size) this.#revision++
  }

  /** Removes all fields with the name. */
  delete(name: string): void {
    this.#remove(name, 0)
  }

  /** All fields, as pairs of a name in lower case and a value. */
  *[Symbol.iterator](): Iterator<[string, string]> {
    for (let at = 0; at < this.#fields.length; at += 2) yield [this.#fields[at] as string, this.#value(at)]
  }

  /** Names and values in turn, for `writeHead`. Do not change them. */
  toRaw(): readonly string[] {
    return this.#fields
  }

  /** A scan is faster than an index: a request has few fields, and most are never read. */
  #find(name: string, from: number): number {
    const fields = this.#fields
    if (typeof name !== 'string') checkString('The name of a header', 'it', name)
    for (let at = from; at < fields.length; at += 2) {
      const other = fields[at] as string
      if (other === name || isSameName(other, name)) return at
    }
    return -1
  }

  #value(at: number): string {
    return this.#fields[at + 1] as string
  }

  #remove(name: string, from: number): void {
    for (let at = this.#find(name, from); at !== -1; at = this.#find(name, at)) {
      this.#fields.splice(at, 2)
      this.#revision++
    }
  }
}

/** Adds a name to Vary (RFC 9110, section 12.5.5), unless it contains the name or `*`. */
export function addVary(headers: Headers, name: string): void {
  const vary = headers.get('vary')
  if (vary === null) headers.set('vary', name)
  else if (!vary.split(',').some(other => isVary(other.trim(), name))) headers.set('vary', `${vary}, ${name}`)
}

function isVary(one: string, other: string): boolean {
  return one === '*' || one.toLowerCase() === other.toLowerCase()
}

/** Whether two names differ in nothing but the case of letters of ASCII. Names in lower case would be new texts. */
function isSameName(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++)
    if (withoutCase(one.charCodeAt(at)) !== withoutCase(other.charCodeAt(at))) return false
  return true
}

function withoutCase(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code
}

/** Whether a text can be the name of a header (RFC 9110, section 5.1). */
export function isHeaderName(name: string): boolean {
  return token.test(name)
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The last valid value of each usual name: nearly all responses repeat it, and a look-up is faster than two patterns.
 */
const lastValues = new Map<string, string>(
  'cache-control content-encoding content-length content-type etag expires last-modified vary x-content-type-options'
    .split(' ')
    .map(name => [name, '']),
)

function check(name: string, value: string): string {
  const last = lastValues.get(name)
  if (last !== undefined && last === value) return value
  // The Fetch API turns a number into a text, and so does this.
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new HTTP_HEADER_INVALID([String(name), `its value must be a string, not ${describeValue(value)}`])
  }
  if (last === undefined && !token.test(name)) {
    throw new HTTP_HEADER_INVALID([name, 'its name is not a token (RFC 9110, section 5.6.2)'])
  }
  if (!fieldValue.test(value)) {
    const right = name.toLowerCase() === 'content-disposition' ? 'use contentDisposition(name)' : 'encode it'
    throw new HTTP_HEADER_INVALID([name, `its value has a control character or one above U+00FF; ${right}`])
  }
  if (last !== undefined) lastValues.set(name, value)
  return value
}

function isIterable(init: HeadersInit): init is Headers | Iterable<readonly [string, string]> {
  return Symbol.iterator in init
}
