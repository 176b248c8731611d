const keyLimit = 10
const lengthLimit = 40

/**
 * Describes a value of another type than expected: `a string of 3 characters`. The values in it
 * are left out: they may be secrets, and error pages and logs contain the text.
 */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return `a string of ${toAmount(value.length, 'character')}`
  if (Array.isArray(value)) return `an array of ${toAmount(value.length, 'item')}`
  if (typeof value === 'function') return describeFunction(value)
  if (Number.isNaN(value)) return 'NaN'
  if (typeof value !== 'object') return `a ${typeof value}`
  return value instanceof Promise ? 'a promise' : describeObject(value)
}

/** The source of a class begins with the word. */
export function isClass(value: unknown): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}

/** Whether a function returns a promise with certainty. */
export function isAsync(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object AsyncFunction]'
}

/** Whether a value is an object whose keys are its content: no list, no promise, no map. */
export function isKeyed(value: unknown): value is object {
  if (isPlainObject(value)) return true
  return typeof value === 'object' && value !== null && !keyless.some(type => Object(value) instanceof type)
}

const keyless = [Array, Promise, Map, Set, RegExp, Date]

/** Whether a value is an object without a class. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function describeFunction(value: { readonly name: string }): string {
  const kind = isClass(value) ? 'class' : isAsync(value) ? 'async function' : 'function'
  if (value.name === '') return kind === 'async function' ? 'an async function' : `a ${kind}`
  return `the ${kind} ${value.name}`
}

function describeObject(result: object): string {
  try {
    const name: unknown = isPlainObject(result) ? '' : Object(result).constructor?.name
    if (typeof name === 'string' && name !== '') return `an object of the class ${name.slice(0, lengthLimit)}`
    const keys = Object.keys(result)
    if (keys.length === 0) return 'an object without keys'
    const names = keys.slice(0, keyLimit).map(key => JSON.stringify(key.slice(0, lengthLimit)))
    const more = keys.length > keyLimit ? `, and ${keys.length - keyLimit} more` : ''
    return `an object with the ${keys.length === 1 ? 'key' : 'keys'} ${names.join(', ')}${more}`
  } catch {
    // A proxy may throw.
    return 'an object'
  }
}

/** Writes a number of things: `1 call`, `2 calls`. */
export function toAmount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** Reads a property of any value; `undefined` if there is none, or if its getter throws. */
export function readProperty(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

/** How the content of a value whose JSON is `{}` comes into JSON; `undefined` for other values. */
export function wayIntoJson(value: unknown): string | undefined {
  if (value instanceof Promise) return 'await it first'
  if (value instanceof Map) return 'use Object.fromEntries(map)'
  if (value instanceof Set) return 'use [...set]'
  return isEmptied(value) ? 'write an object of its values, or a method toJSON() of its class' : undefined
}

/** Whether the content of an object is in getters of its class, or is that of an error. */
function isEmptied(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).length > 0 || 'toJSON' in value) return false
  return (value instanceof Error || hasGetter(Object.getPrototypeOf(value))) && JSON.stringify(value) === '{}'
}

function hasGetter(prototype: object | null): boolean {
  if (prototype === null || prototype === Object.prototype) return false
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  const isGetter = members.some(([name, { get }]) => get !== undefined && name !== '__proto__')
  return isGetter || hasGetter(Object.getPrototypeOf(prototype))
}
