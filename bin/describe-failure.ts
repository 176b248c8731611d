import { inspect } from 'node:util'
import { CommandUsageError } from '../kernel/console-command.ts'
import { KERNEL_BUNDLE_FAILED } from '../kernel/errors.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { UsageError } from './options.ts'

/** What a program prints of an error: what is foreseen has a message that says all; other errors need stack and causes. */
export function describeFailure(error: unknown): string {
  return isForeseen(error) ? error.message : inspect(error)
}

function isForeseen(error: unknown): error is Error {
  // Of a bundle that fails for a reason of its own, the place in the bundle is what matters.
  if (error instanceof KERNEL_BUNDLE_FAILED) return isForeseen(error.cause)
  return error instanceof HttpError || error instanceof UsageError || error instanceof CommandUsageError
}
