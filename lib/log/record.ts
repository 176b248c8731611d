import type { Redactor } from '../redact/redactor.ts'
import { copyContext, cut } from './copy-context.ts'
import type { LogLevel } from './levels.ts'
import { isLogError } from './log-error.ts'
import type { LogContext, LogRecord } from './logger.ts'

const messageLimit = 4096

/** Makes a record of what was logged: copied, masked, and its message filled and cut to 4,096 characters. */
export function createRecord(
  time: Date,
  level: LogLevel,
  channel: string,
  template: string,
  values: LogContext,
  redactor: Redactor,
): LogRecord {
  const context = copyContext(values, redactor)
  const filled = fill(template, context)
  const message = cut(redactor.text(filled), messageLimit)
  const origin = filled === template ? undefined : { template }
  return { time: time.toISOString(), level, channel, message, ...origin, context }
}

/** The names of the placeholders of a message, in order. */
export function placeholdersOf(template: string): string[] {
  return Array.from(template.matchAll(placeholder), ([, name = '']) => name)
}

const placeholder = /\{([\w.-]+)\}/g

function fill(template: string, context: Readonly<Record<string, unknown>>): string {
  return template.replace(placeholder, (placeholder, name: string) =>
    Object.hasOwn(context, name) ? toText(context[name]) : placeholder,
  )
}

function toText(value: unknown): string {
  if (isLogError(value)) return value.message
  return typeof value === 'string' ? value : JSON.stringify(value)
}
