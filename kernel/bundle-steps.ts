import { describeError } from '../lib/errors/flat-error.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import type { Bundle, Foundation } from './bundle.ts'
import { KERNEL_BUNDLE_FAILED } from './errors.ts'

/** The methods of a bundle that may fail. */
type BundleStep = 'decorate' | 'register' | 'close'

/** The error of a failed step. It names the bundle; its cause is the thrown value. */
export function failedStep({ name }: Bundle, step: BundleStep, cause: unknown): Error {
  const reason = cause instanceof HttpError ? cause.message : describeError(cause)
  return new KERNEL_BUNDLE_FAILED([name, step, reason], { cause })
}

/** Lets a bundle wrap services. @throws KERNEL_BUNDLE_FAILED */
export function decorate(bundle: Bundle, foundation: Foundation): Foundation {
  try {
    return bundle.decorate?.(foundation) ?? foundation
  } catch (error) {
    throw failedStep(bundle, 'decorate', error)
  }
}

/** Closes bundles in reverse order. Returns the errors of those that fail. */
export async function closeBundles(bundles: readonly Bundle[]): Promise<Error[]> {
  const failures: Error[] = []
  for (const bundle of bundles.toReversed()) {
    try {
      await bundle.close?.()
    } catch (error) {
      failures.push(failedStep(bundle, 'close', error))
    }
  }
  return failures
}
