import { describeValue, isKeyed } from '../text/describe-value.ts'
import { findShapeMistakes, kinds, type ShapeOf, type ValueKind } from '../text/mistakes.ts'
import { type CodedErrorClass, defineError } from './http-error.ts'

/**
 * A function of the package gets an unknown option or signal, or an argument of a wrong type. Use what the message
 * names.
 */
export const ARGUMENT_INVALID: CodedErrorClass<[call: string, mistake: string]> = defineError(
  'ARGUMENT_INVALID',
  500,
  '%s: %s.',
)

/**
 * Refuses options that are no object, or that have an unknown key or a value of another type. @throws ARGUMENT_INVALID
 */
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

/** Refuses an argument that is no function, or a class, which cannot be called. @throws ARGUMENT_INVALID */
export function checkFunction(call: string, noun: string, value: unknown): void {
  if (kinds.function[0](value)) return
  throw new ARGUMENT_INVALID([call, `${noun} must be a function, not ${describeValue(value)}`])
}

/**
 * Refuses arguments of another kind than the call takes, and more of them than it names: `session.get(name)` with
 * the kind `string`. A kind with a question mark may be left out. @throws ARGUMENT_INVALID
 */
export function checkArguments(
  call: string,
  wanted: readonly (ValueKind | `${ValueKind}?`)[],
  ...values: readonly unknown[]
): void {
  for (const [index, kind] of wanted.entries()) {
    const value = values[index]
    if (value === undefined && kind.endsWith('?')) continue
    const [isRight, right] = kinds[kind.replace('?', '') as ValueKind]
    if (!isRight(value))
      throw new ARGUMENT_INVALID([call, `the ${namesIn(call)[index]} must be ${right}, not ${describeValue(value)}`])
  }
  if (values.length <= wanted.length) return
  const more = describeValue(values[wanted.length])
  throw new ARGUMENT_INVALID([call, `${more} behind the ${namesIn(call).at(-1)} has no effect: leave it out`])
}

/** Refuses a change of an application that has started. @throws ARGUMENT_INVALID */
export function refuseLate(call: string): never {
  throw new ARGUMENT_INVALID([call, 'the application has started: call it in register() of a bundle'])
}

function namesIn(call: string): string[] {
  return call.slice(call.indexOf('(') + 1, -1).split(', ')
}
