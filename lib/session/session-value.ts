import { SESSION_VALUE_INVALID } from './errors.ts'

/**
 * Copies a value that JSON can represent without loss: null, booleans, finite numbers, strings, arrays and plain objects.
 * Undefined properties are left out, as in JSON.
 *
 * @throws SESSION_VALUE_INVALID with the path of the part that cannot be stored
 */
export function copyValue(name: string, value: unknown): unknown {
  return copy(value, { name, path: 'the value', within: [] })
}

/** A place in a value. */
interface Place {
  readonly name: string
  /** `the value.user.roles[2]` */
  readonly path: string
  /** The objects around the place, to find cycles. */
  readonly within: readonly object[]
}

/** Deeper than any useful data, and far from a stack overflow. */
const maxDepth = 100

function copy(value: unknown, place: Place): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw refuse(place, describe(value))
  if (place.within.includes(value)) throw refuse(place, 'part of itself')
  if (place.within.length === maxDepth) throw refuse(place, `nested more than ${maxDepth} deep`)

  const within = [...place.within, value]
  if (Array.isArray(value)) {
    // Not map(): it would skip holes.
    return Array.from(value, (item, index) => copy(item, { ...place, path: `${place.path}[${index}]`, within }))
  }
  if (!isPlain(value)) throw refuse(place, `an instance of ${value.constructor?.name ?? 'a class'}`)
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  // fromEntries() defines properties: a key `__proto__` is data like any other.
  return Object.fromEntries(
    entries.map(([key, part]) => [key, copy(part, { ...place, path: `${place.path}.${key}`, within })]),
  )
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function refuse({ name, path }: Place, reason: string): Error {
  return new SESSION_VALUE_INVALID([name, path, reason])
}

function describe(value: unknown): string {
  if (value === undefined || typeof value === 'number') return String(value)
  return `a ${typeof value}`
}
