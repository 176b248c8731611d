import { format } from 'node:util'
import type { LoggedLine } from '../../kernel/contracts/process-calls.ts'
import type { LogContext, LogLevel } from '../../lib/log/logger.ts'

/** The names that libraries give to their levels. */
const levels: ReadonlyMap<unknown, LogLevel> = new Map(
  Object.entries({
    critical: ['fatal', 'critical', 'crit', 'alert', 'emerg', 'emergency'],
    error: ['error', 'err'],
    warning: ['warn', 'warning'],
    debug: ['debug', 'trace', 'verbose', 'silly'],
  } as const).flatMap(([level, names]) => names.map(name => [name, level as LogLevel] as const)),
)

/** The level that a library calls by a name; `info` for a name that says no level, such as `http`. */
export function toLogLevel(name: unknown): LogLevel {
  return levels.get(String(name).toLowerCase()) ?? 'info'
}

/** The name of a library, with that of the part of the application, if there is one. */
export function toChannel(library: string, part: unknown): string {
  return typeof part === 'string' && part !== '' ? `${library}:${part}` : library
}

/** The text that a library prints now: if it does so by the console, it is one line, and not two. */
let printed: unknown

/** Notes the text that is printed next, until it is called with `undefined`. */
export function notePrinted(text: unknown): void {
  printed = text
}

/** Whether the values of a call of the console are the text of a line that a library prints. */
export function isLine(values: readonly unknown[]): boolean {
  return printed !== undefined && values.length === 1 && values[0] === printed
}

/**
 * The fields of a line. What a serializer has made of an error, with its message and its stack, is an error again. So
 * is a stack alone, as the error of the line.
 */
export function toContext({ stack, ...fields }: Readonly<Record<string, unknown>>): LogContext {
  const entries = Object.entries(fields).map(([name, value]) => [name, isPrinted(value) ? toError(value) : value])
  return { ...Object.fromEntries(entries), ...(typeof stack === 'string' && { exception: toError({ stack }) }) }
}

/** An error as it is printed. */
interface PrintedError {
  readonly message?: string
  readonly name?: unknown
  readonly stack: string
  /** Its name in lines of pino. */
  readonly type?: unknown
}

function isPrinted(value: unknown): value is PrintedError & { readonly message: string } {
  const { message, stack } = Object(value)
  return !(value instanceof Error) && typeof message === 'string' && typeof stack === 'string'
}

/** Makes an error of its printed stack. Without its message and its name, these are those of the first lines. */
export function toError({ message, name, stack, type, ...others }: PrintedError): Error {
  const head = stack.split(/\n[^\S\n]+at /, 1)[0] ?? ''
  const [, ownName, ownMessage = head] = /^([\w$.]+)(?: \[[^\]]*\])?: (.*)$/s.exec(head) ?? []
  // A new error would read its own stack, which is slow.
  return Object.create(Error.prototype, {
    ...Object.getOwnPropertyDescriptors(others),
    name: { value: String(name ?? type ?? ownName ?? 'Error') },
    message: { value: message ?? ownMessage },
    stack: { value: stack },
  })
}

/** The message and the fields of values that are printed one after another. */
export function toLine(values: readonly unknown[]): Pick<LoggedLine, 'context' | 'message'> {
  const isText = (value: unknown) => typeof value !== 'object' || value === null
  const exception = values.find(value => value instanceof Error)
  const others = values.filter(value => !isText(value) && value !== exception)
  const said = format(...values.filter(isText)) || exception?.message || others.map(nameOfClass).join(', ')
  return {
    message: said,
    context: { ...(exception !== undefined && { exception }), ...(others.length > 0 && { values: others }) },
  }
}

function nameOfClass(value: unknown): string {
  return Object(value).constructor?.name ?? 'Object'
}
