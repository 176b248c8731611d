import { describeValue, isKeyed } from '../text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../text/mistakes.ts'
import { type CodedErrorClass, defineError } from './http-error.ts'

/**
 * A function of the package gets an unknown option, or an argument of a wrong type, such as the name of an event or an
 * unknown signal. Use what the message names.
 */
export const ARGUMENT_INVALID: CodedErrorClass<[call: string, mistake: string]> = defineError(
  'ARGUMENT_INVALID',
  500,
  '%s: %s.',
)

/** Refuses options that are no object, or that have an unknown key or a value of another type. @throws ARGUMENT_INVALID */
export function checkOptions<type>(call: string, options: type | undefined, shape: ShapeOf<type>): void {
  if (options === undefined) return
  checkObject(call, options, shape)
  const [mistake] = findShapeMistakes('option', options, shape)
  if (mistake !== undefined) throw new ARGUMENT_INVALID([call, mistake])
}

/** Refuses options that are no object. @throws ARGUMENT_INVALID */
export function checkObject(call: string, options: unknown, shape: object): asserts options is object {
  if (isKeyed(options)) return
  const known = Object.keys(shape).join(', ')
  throw new ARGUMENT_INVALID([call, `its options are an object with ${known}, not ${describeValue(options)}`])
}

/** Refuses an argument that is no string. @throws ARGUMENT_INVALID */
export function checkString(call: string, noun: string, value: unknown): void {
  if (typeof value === 'string') return
  throw new ARGUMENT_INVALID([call, `${noun} must be a string, not ${describeValue(value)}`])
}

/** Refuses an argument that is no function. @throws ARGUMENT_INVALID */
export function checkFunction(call: string, noun: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new ARGUMENT_INVALID([call, `${noun} must be a function, not ${describeValue(value)}`])
}

/**
 * The application reads or sets a member that other frameworks have, such as `request.params`. Use what the message
 * names.
 */
export const MEMBER_UNKNOWN: CodedErrorClass<[member: string, right: string]> = defineError(
  'MEMBER_UNKNOWN',
  500,
  // Not a colon: what follows `authorization:` is masked.
  'There is no %s; use %s.',
)

/**
 * Refuses members of other frameworks, each with what is right. Without this, reading one gives `undefined`, and setting one has no
 * effect. The members are not in the types, and are not listed. Called for a prototype or a class, when it is defined. Of an object
 * that is `open`, the application may set them as members of its own.
 */
export function refuseMembers(
  object: object,
  noun: string,
  members: Readonly<Record<string, string>>,
  { open = false }: { readonly open?: boolean } = {},
): void {
  for (const [name, right] of Object.entries(members)) {
    const refuse = () => {
      throw new MEMBER_UNKNOWN([`${noun}.${name}`, right])
    }
    const add = function (this: object, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true })
    }
    Object.defineProperty(object, name, { get: refuse, set: open ? add : refuse })
  }
}

/** The keys that are mistakes, each with what is right; `undefined` for a key that is none. */
interface KeyAdvice<type> {
  readonly onRead: (key: string, object: type) => string | undefined
  /** Without it, keys may be set. */
  readonly onSet?: (key: string) => string
}

/**
 * Refuses unknown keys of the objects of a class that the application reads, such as `query.page`, which would be `undefined`. It takes
 * a proxy behind the prototype: all members of the class are found before it, and cost what they did. Called when the class is defined.
 */
export function refuseKeys<type extends object>(
  { prototype }: { readonly prototype: type },
  noun: string,
  { onRead, onSet }: KeyAdvice<type>,
): void {
  const parent: object = Object.getPrototypeOf(prototype)
  if (parent !== Object.prototype) {
    const inherited = Object.getOwnPropertyDescriptors(parent)
    Object.defineProperties(prototype, { ...inherited, ...Object.getOwnPropertyDescriptors(prototype) })
  }
  const refuse = (key: string, right: string | undefined) => {
    if (right === undefined) return
    throw new MEMBER_UNKNOWN([`${noun}${/^\w+$/.test(key) ? `.${key}` : `["${key}"]`}`, right])
  }
  const read: NonNullable<ProxyHandler<object>['get']> = (target, key, receiver) => {
    const isUnknown = typeof key === 'string' && !(key in target) && key !== 'then' && receiver !== prototype
    const right = isUnknown ? onRead(key, receiver) : undefined
    if (right !== undefined && !isCalledByTool(read)) refuse(String(key), right)
    return Reflect.get(target, key, receiver)
  }
  const behind = new Proxy(Object.create(parent), {
    get: read,
    set(target, key, value, receiver) {
      if (typeof key === 'string') refuse(key, onSet?.(key))
      return Reflect.set(target, key, value, receiver)
    },
  })
  Object.setPrototypeOf(prototype, behind)
}

/**
 * Whether Node or a package has called a function: code that prints, compares or copies values reads members that they may have, such as
 * `href` and `toJSON`.
 */
function isCalledByTool(called: (...values: never[]) => unknown): boolean {
  const trace: { readonly stack?: unknown } = {}
  Error.captureStackTrace(trace, called)
  const caller = String(trace.stack).split('\n')[1]
  return caller === undefined || /\bnode:|[\\/]node_modules[\\/]|<anonymous>\)?$/.test(caller)
}
