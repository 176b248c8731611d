import { type FlatError, flattenError } from '../errors/flat-error.ts'
import { isClientError } from '../errors/http-error.ts'
import { type CopyBounds, cut, MaskingCopier, propertyBounds, type TextMasker } from '../redact/masking-copier.ts'
import type { Redactor } from '../redact/redactor.ts'
import { readProperty } from '../stack/read-property.ts'
import { formatFrame } from '../stack/stack-frames.ts'
import type { LogContext, LogIds, LogLevel, LogRecord } from './logger.ts'

const messageLimit = 4096

/** Creates a record: the context is copied and masked, the message filled and cut to 4,096 characters. */
export function createRecord(
  time: Date,
  level: LogLevel,
  channel: string,
  template: string,
  values: LogContext,
  redactor: Redactor,
  ids?: LogIds,
): LogRecord {
  const context = copyContext(values, redactor)
  const filled = splitBehindErrorNames(template, context).map(part => fill(part, context))
  return {
    time: time.toISOString(),
    level,
    channel,
    message: cut(filled.map(part => redactor.text(part)).join(''), messageLimit),
    ...(filled.join('') !== template && { template: cut(redactor.text(template), messageLimit) }),
    context,
    ...ids,
  }
}

/** The names of the placeholders of a message, in order. */
export function placeholdersOf(template: string): string[] {
  return Array.from(template.matchAll(placeholder), ([, name = '']) => name)
}

const placeholder = /\{([\w.-]+)\}/g
const placeholderBeforeColon = /\{([\w.-]{1,60})\}(?=: )/g

/**
 * Splits `{name}: {message}` behind the name of a logged error. The parts are masked alone: else the message behind a name
 * such as `TokenExpired` is masked as the value of a secret.
 */
function splitBehindErrorNames(template: string, context: Readonly<Record<string, unknown>>): string[] {
  const errors = Object.values(context).filter(isLogError)
  if (errors.length === 0) return [template]
  const ends = Array.from(template.matchAll(placeholderBeforeColon))
    .filter(([, key = '']) => errors.some(({ name }) => name === context[key]))
    .map(({ 0: found, index }) => index + found.length)
  return [0, ...ends].map((start, at) => template.slice(start, ends[at]))
}

function fill(template: string, context: Readonly<Record<string, unknown>>): string {
  return template.replace(placeholder, (unfilled, name: string) =>
    Object.hasOwn(context, name) ? toText(context[name]) : unfilled,
  )
}

function toText(value: unknown): string {
  if (isLogError(value)) return value.message
  return typeof value === 'string' ? value : String(JSON.stringify(value))
}

const bounds: CopyBounds = { depth: 6, entries: 500, text: 2048 }

/**
 * Copies a context into plain data: masked, six levels deep, 500 entries in all, texts of at most 2,048 characters; `…`
 * stands for parts that are left out. Errors are copied with their stacks; of instances of other classes only the name
 * is copied. Getters and `toJSON` are not called.
 */
function copyContext(context: LogContext, redactor: Redactor): Record<string, unknown> {
  try {
    return new MaskingCopier(redactor, bounds, copyError).record(context)
  } catch {
    // A proxy may throw. The message is logged anyway.
    return { '…': 'The context could not be read.' }
  }
}

function copyError(error: object, mask: (text: string) => string, masker: TextMasker): LogError {
  // The stack of a client's mistake is of no interest, and to read it is costly.
  const hasFrames = !isClientError(Number(readProperty(error, 'status')))
  let copier: MaskingCopier | undefined
  // Most errors have no further properties.
  const copy: CopyProperties = properties => {
    copier ??= new MaskingCopier(masker, propertyBounds)
    return copier.record(properties)
  }
  return toLogError(flattenError(error, { hasFrames, mask }), mask, copy)
}

/** An error in the context of a record. */
export interface LogError {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  readonly status?: number
  /** One frame per line, without the message; empty for a client's mistake (status 4xx). */
  readonly stack: string
  readonly cause?: LogError
  readonly errors?: readonly LogError[]
  readonly note?: string
  /** Further properties of the error, such as `detail` of an error of PostgreSQL, or the `issues` of a validator. */
  readonly properties?: Readonly<Record<string, unknown>>
}

const frameLimit = 30

type CopyProperties = (properties: object) => Record<string, unknown>

/** Shortens an error for the log; `mask` is applied to its texts, and `copy` copies its properties. */
function toLogError(error: FlatError, mask: (text: string) => string, copy: CopyProperties): LogError {
  const { name, message, code, frames, cause, errors, properties, ...rest } = error
  return {
    ...rest,
    name: mask(name),
    message,
    ...(code !== undefined && { code: typeof code === 'string' ? mask(code) : code }),
    ...(properties && { properties: copy(properties) }),
    stack: frames
      .slice(0, frameLimit)
      .map(frame => mask(formatFrame(frame)))
      .join('\n'),
    ...(cause && { cause: toLogError(cause, mask, copy) }),
    ...(errors && { errors: errors.map(inner => toLogError(inner, mask, copy)) }),
  }
}

/** Whether a value of a context is an error. */
export function isLogError(value: unknown): value is LogError {
  const error = value as Partial<LogError> | null | undefined
  return typeof error?.message === 'string' && typeof error.stack === 'string' && typeof error.name === 'string'
}
