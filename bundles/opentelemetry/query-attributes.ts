import type { Attributes } from '@opentelemetry/api'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { isCache } from '../../lib/sql/conventions.ts'
import { readStatement } from '../../lib/sql/statement.ts'

/** A statement without its values, and the name of its span. */
export interface QueryText {
  readonly text: string
  /** `SELECT users`: few for each application. */
  readonly summary: string
  /** The operation in capitals, such as `SELECT`. */
  readonly operation: string
}

/** The most characters of a statement in an attribute. */
const textLimit = 4096

/** Removes the values of a statement. Of a command for a cache only its name remains: its key may be the id of a session. */
export function describeQuery(system: string, text: string, redactor: Redactor): QueryText {
  const { shape, tables } = isCache(system)
    ? { shape: wordOf(text).toUpperCase(), tables: [] }
    : readStatement(text, system)
  const operation = wordOf(shape).toUpperCase()
  return {
    text: cut(redactor.text(shape), textLimit),
    summary: cut([operation || system, ...tables.slice(0, 3)].join(' '), 255),
    operation,
  }
}

function wordOf(text: string): string {
  return /^\s*([a-z]+)/i.exec(text)?.[1] ?? ''
}

/** The attributes of a query by OpenTelemetry's conventions for clients of databases. */
export function queryAttributes(system: string, { operation, summary, text }: QueryText): Attributes {
  return {
    'db.system.name': system,
    'db.query.text': text,
    'db.query.summary': summary,
    ...(operation !== '' && { 'db.operation.name': operation }),
  }
}
