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
  'There is no %s: use %s.',
)

/**
 * Refuses members of other frameworks, each with what is right. Without this, reading one gives `undefined`, and setting one has no
 * effect. The members are not in the types, and are not listed. Called for a prototype or a class, when it is defined.
 */
export function refuseMembers(object: object, noun: string, members: Readonly<Record<string, string>>): void {
  for (const [name, right] of Object.entries(members)) {
    const refuse = () => {
      throw new MEMBER_UNKNOWN([`${noun}${/^\w+$/.test(name) ? `.${name}` : `["${name}"]`}`, right])
    }
    Object.defineProperty(object, name, { get: refuse, set: refuse })
  }
}
