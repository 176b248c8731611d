import { existsSync } from 'node:fs'
import path from 'node:path'
import { inspect } from 'node:util'
import { CommandUsageError } from '../kernel/console-command.ts'
import { KERNEL_BUNDLE_FAILED } from '../kernel/errors.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { readProperty } from '../lib/stack/read-property.ts'
import { UsageError } from './serve-options.ts'

/** Formats an error for stderr: the message alone if the error was foreseen, otherwise with its stack and causes. */
export function describeFailure(error: unknown): string {
  if (isForeseen(error)) return error.message
  // In front of a mistake in a module, Node names its file and line: its own calls explain nothing. The place of other
  // mistakes, such as those of JSON.parse, is in the calls.
  const stack = error instanceof SyntaxError ? (error.stack ?? '') : ''
  if (stack !== '' && !stack.startsWith('SyntaxError')) return stack.replace(/\n {4}at [\s\S]*/, '')
  return `${inspect(error)}${hintAtEnding(error)}`
}

/** A line about an import such as `./home-bundle` or `./home-bundle.js` of a file that ends in `.ts`. */
function hintAtEnding(error: unknown): string {
  const url = readProperty(error, 'url')
  if (readProperty(error, 'code') !== 'ERR_MODULE_NOT_FOUND' || typeof url !== 'string') return ''
  const source = url.replace(/(?:\.([cm]?)js)?$/, '.$1ts')
  if (!existsSync(new URL(source))) return ''
  return `\nImports of own files end in .ts: import "${path.posix.basename(source)}" instead.`
}

function isForeseen(error: unknown): error is Error {
  // For an unforeseen error of a bundle, the stack shows the place in the bundle.
  if (error instanceof KERNEL_BUNDLE_FAILED) return isForeseen(error.cause)
  return error instanceof HttpError || error instanceof UsageError || error instanceof CommandUsageError
}
