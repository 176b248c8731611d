import { inspect } from 'node:util'
import { CommandUsageError } from '../kernel/console-command.ts'
import { KERNEL_BUNDLE_FAILED } from '../kernel/errors.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { UsageError } from './serve-options.ts'

/** Formats an error for stderr: the message alone if the error was foreseen, otherwise with its stack and causes. */
export function describeFailure(error: unknown): string {
  if (isForeseen(error)) return error.message
  // In front of a mistake in a module, Node names its file and line: its own calls explain nothing. The place of other
  // mistakes, such as those of JSON.parse, is in the calls.
  const stack = error instanceof SyntaxError ? String(error.stack) : ''
  if (stack !== '' && !stack.startsWith('SyntaxError')) return stack.replace(/\n {4}at [\s\S]*/, '')
  return inspect(error)
}

function isForeseen(error: unknown): error is Error {
  // For an unforeseen error of a bundle, the stack shows the place in the bundle.
  if (error instanceof KERNEL_BUNDLE_FAILED) return isForeseen(error.cause)
  return error instanceof HttpError || error instanceof UsageError || error instanceof CommandUsageError
}
