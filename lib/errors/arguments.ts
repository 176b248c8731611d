import { describeValue } from '../text/describe-value.ts'
import { type KeysOf, listUnknownKeys } from '../text/known-keys.ts'
import { type CodedErrorClass, defineError } from './http-error.ts'

/**
 * A function of the package got an argument that its types do not allow. The compiler refuses it, too, but Node runs
 * TypeScript without a check of types.
 */
export const ARGUMENT_INVALID: CodedErrorClass<[call: string, mistake: string]> = defineError(
  'ARGUMENT_INVALID',
  500,
  '%s: %s.',
)

/** Refuses options that are no object, or have an unknown key. @throws ARGUMENT_INVALID */
export function checkOptions<type>(call: string, options: type | undefined, keys: KeysOf<type>): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null) {
    const known = Object.keys(keys).join(', ')
    throw new ARGUMENT_INVALID([call, `its options are an object with ${known}, not ${describeValue(options)}`])
  }
  const unknown = listUnknownKeys(options, keys)[0]
  if (unknown !== undefined) throw new ARGUMENT_INVALID([call, `there is no option ${unknown}`])
}

/** Refuses an argument that is no function. @throws ARGUMENT_INVALID */
export function checkFunction(call: string, noun: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new ARGUMENT_INVALID([call, `${noun} must be a function, not ${describeValue(value)}`])
}
