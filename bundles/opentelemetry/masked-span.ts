import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { maskQuotedValues } from '../../lib/redact/mask-quoted-values.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { mask } from '../../lib/redact/secret-names.ts'
import {
  isStatementAttribute,
  isValueAttribute,
  statementAttributes,
  systemAttributes,
} from '../../lib/sql/conventions.ts'
import { describeQuery } from './query-attributes.ts'
import { ownScope } from './registration.ts'

/** The most characters of a text in an attribute. */
const textLimit = 2048

/**
 * Masks a span before it leaves the process. The spans of instrumentations contain whole statements and their values,
 * addresses and messages. The bundle's own spans are masked when they are made.
 */
export function maskSpan(span: ReadableSpan, redactor: Redactor): ReadableSpan {
  const { attributes, events, instrumentationScope, links, name, status } = span
  if (instrumentationScope.name === ownScope) return span
  const maskMessage = createMessageMask(attributes, redactor)
  const maskIn = (part: Attributes | undefined): Attributes => maskAttributes({ ...part }, redactor)
  // All other members are those of the span itself.
  return Object.create(span, {
    name: { value: nameOf(name, attributes, redactor) },
    attributes: { value: maskAttributes(attributes, redactor) },
    events: {
      value: events.map(event => ({
        ...event,
        name: redactor.text(event.name),
        attributes: maskIn(maskException(event.attributes, maskMessage)),
      })),
    },
    links: { value: links.map(link => ({ ...link, attributes: maskIn(link.attributes) })) },
    status: { value: status.message === undefined ? status : { ...status, message: maskMessage(status.message) } },
  })
}

/** The instrumentation of pg names a span by the database: its name becomes that of the convention, as for other databases. */
function nameOf(name: string, attributes: Attributes, redactor: Redactor): string {
  const statement = statementOf(attributes)
  return name.startsWith('pg.query') && statement !== ''
    ? describeQuery(systemOf(attributes), statement, redactor).summary
    : redactor.text(name)
}

function statementOf(attributes: Attributes): string {
  const [newer, older] = statementAttributes
  return String(attributes[newer] ?? attributes[older] ?? '')
}

/** The messages of databases contain values of the statement. */
function createMessageMask(attributes: Attributes, redactor: Redactor): (message: string) => string {
  const system = systemOf(attributes)
  if (system === '') return message => maskText(message, redactor)
  const { text: shape } = describeQuery(system, statementOf(attributes), redactor)
  return message => cut(maskQuotedValues(redactor.text(message), shape), textLimit)
}

/** Masks the message of an exception, and at the beginning of its stack. */
function maskException(attributes: Attributes | undefined, maskMessage: (message: string) => string): Attributes {
  const { 'exception.message': message, 'exception.stacktrace': stack } = { ...attributes }
  if (typeof message !== 'string' || message === '') return { ...attributes }
  const masked = maskMessage(message)
  return {
    ...attributes,
    'exception.message': masked,
    ...(typeof stack === 'string' && { 'exception.stacktrace': stack.split(message).join(masked) }),
  }
}

function systemOf(attributes: Attributes): string {
  const [newer, older] = systemAttributes
  return String(attributes[newer] ?? attributes[older] ?? '')
}

function maskAttributes(attributes: Attributes, redactor: Redactor): Attributes {
  const system = systemOf(attributes)
  const masked = Object.entries(attributes).flatMap(([name, value]): [string, AttributeValue | undefined][] => {
    if (isValueAttribute(name)) return []
    if (isStatementAttribute(name)) return [[name, describeQuery(system, String(value ?? ''), redactor).text]]
    return [[name, maskValue(name, value, redactor)]]
  })
  return Object.fromEntries(masked)
}

function maskValue(name: string, value: AttributeValue | undefined, redactor: Redactor): AttributeValue | undefined {
  if (typeof value !== 'string' && !Array.isArray(value)) return value
  if (redactor.isSecret(name)) return mask
  if (typeof value === 'string') return maskText(value, redactor)
  return value.map(each => (typeof each === 'string' ? maskText(each, redactor) : each)) as AttributeValue
}

function maskText(text: string, redactor: Redactor): string {
  return cut(redactor.text(text), textLimit)
}
