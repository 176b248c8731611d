import { cut } from '../redact/masking-copier.ts'
import type { Redactor } from '../redact/redactor.ts'
import { copyContext } from './copy-context.ts'
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
  const toMessage = (text: string) => cut(redactor.text(text), messageLimit)
  return {
    time: time.toISOString(),
    level,
    channel,
    message: toMessage(filled),
    ...(filled !== template && { template: toMessage(template) }),
    context,
  }
}

/** The names of the placeholders of a message, in order. */
export function placeholdersOf(template: string): string[] {
  return Array.from(template.matchAll(placeholder), ([, name = '']) => name)
}

const placeholder = /\{([\w.-]+)\}/g

function fill(template: string, context: Readonly<Record<string, unknown>>): string {
  return template.replace(placeholder, (unfilled, name: string) =>
    Object.hasOwn(context, name) ? toText(context[name]) : unfilled,
  )
}

function toText(value: unknown): string {
  if (isLogError(value)) return value.message
  return typeof value === 'string' ? value : String(JSON.stringify(value))
}
