import type { FlatError } from '../errors/flatten.ts'
import { formatFrame } from '../stack/format-frame.ts'

/** An error as it stands in the context of a record. */
export interface LogError {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  readonly status?: number
  /** A frame a line, without the message; empty for what the client is to blame for. */
  readonly stack: string
  readonly cause?: LogError
  readonly errors?: readonly LogError[]
  readonly note?: string
}

const frameLimit = 30

/** Shortens an error for the log; `mask` is applied to its texts. */
export function toLogError(error: FlatError, mask: (text: string) => string): LogError {
  const { name, message, code, frames, cause, errors, ...rest } = error
  return {
    ...rest,
    name: mask(name),
    message: mask(message),
    ...(code !== undefined && { code: typeof code === 'string' ? mask(code) : code }),
    stack: frames
      .slice(0, frameLimit)
      .map(frame => mask(formatFrame(frame)))
      .join('\n'),
    ...(cause && { cause: toLogError(cause, mask) }),
    ...(errors && { errors: errors.map(inner => toLogError(inner, mask)) }),
  }
}

/** Whether a value of a context is an error. */
export function isLogError(value: unknown): value is LogError {
  const error = value as Partial<LogError> | null | undefined
  return typeof error?.message === 'string' && typeof error.stack === 'string' && typeof error.name === 'string'
}
