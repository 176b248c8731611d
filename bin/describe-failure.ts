import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { inspect } from 'node:util'
import { CommandUsageError } from '../kernel/console-command.ts'
import { KERNEL_BUNDLE_FAILED } from '../kernel/errors.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import { readProperty } from '../lib/stack/read-property.ts'
import { suggestNames } from '../lib/text/nearest-names.ts'
import { UsageError } from './serve-options.ts'

/** Formats an error for stderr: the message alone if the error was foreseen, otherwise with its stack and causes. */
export function describeFailure(error: unknown): string {
  if (isForeseen(error)) return error.message
  // In front of a mistake in a module, Node names its file and line: its own calls explain nothing. The place of other
  // mistakes, such as those of JSON.parse, is in the calls.
  const stack = error instanceof SyntaxError ? (error.stack ?? '') : ''
  if (stack !== '' && !stack.startsWith('SyntaxError')) {
    return `${stack.replace(/\n {4}at [\s\S]*/, '')}${hintAtName(String(error))}`
  }
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

/** A line about an import of a name that a module does not export: it may be a type, whose import Node does not remove. */
function hintAtName(message: string): string {
  const [, module = '', name = ''] = /module '([^']+)' does not provide an export named '([^']+)'/.exec(message) ?? []
  if (name === '') return ''
  const names = readExports(module)
  if (names.includes(`type ${name}`)) return `\nIt is a type: import { type ${name} }.`
  if (names.length > 0) return `\nThere is no "${name}" in ${module}${suggestNames(name, names)}.`
  return `\nIf "${name}" is a type: import { type ${name} }. Otherwise export it from ${module}.`
}

/** The names that an entry point of this package exports, those of types as `type Bundle`; none for another module. */
function readExports(module: string): string[] {
  const [, part] = /^sinfonietta(?:\/(.*))?$/.exec(module) ?? [undefined, '-']
  const file = path.join(import.meta.dirname, `exports/${(part ?? 'sinfonietta').replace('/', '-')}.d.ts`)
  if (!existsSync(file)) return []
  const lists = readFileSync(file, 'utf8').matchAll(/^export (type )?\{([^}]*)\}/gm)
  return Array.from(lists, ([, mark = '', list = '']) => list.split(',').map(each => `${mark}${each.trim()}`)).flat()
}

function isForeseen(error: unknown): error is Error {
  // For an unforeseen error of a bundle, the stack shows the place in the bundle.
  if (error instanceof KERNEL_BUNDLE_FAILED) return isForeseen(error.cause)
  return error instanceof HttpError || error instanceof UsageError || error instanceof CommandUsageError
}
