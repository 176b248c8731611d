import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { mask } from '../../lib/redact/secret-names.ts'
import { isStatementAttribute, isValueAttribute, systemAttributes } from '../../lib/sql/conventions.ts'
import { describeQuery } from './query-attributes.ts'
import { ownScope } from './registration.ts'

/** The characters of a text in an attribute. */
const textLimit = 2048

/**
 * Masks a span before it leaves the process. The spans of instrumentations contain whole statements and their values,
 * addresses and messages. The bundle's own spans are masked when they are made.
 */
export function maskSpan(span: ReadableSpan, redactor: Redactor): ReadableSpan {
  const { attributes, events, instrumentationScope, links, name, status } = span
  if (instrumentationScope.name === ownScope) return span
  const maskIn = <part extends { readonly attributes?: Attributes }>(part: part): part => ({
    ...part,
    attributes: maskAttributes({ ...part.attributes }, redactor),
  })
  // All other members are those of the span itself.
  return Object.create(span, {
    name: { value: redactor.text(name) },
    attributes: { value: maskAttributes(attributes, redactor) },
    events: { value: events.map(maskIn) },
    links: { value: links.map(maskIn) },
    status: {
      value: status.message === undefined ? status : { ...status, message: maskText(status.message, redactor) },
    },
  })
}

function maskAttributes(attributes: Attributes, redactor: Redactor): Attributes {
  const [newer, older] = systemAttributes
  const system = String(attributes[newer] ?? attributes[older] ?? '')
  const masked = Object.entries(attributes).flatMap(([name, value]): [string, AttributeValue | undefined][] => {
    if (isValueAttribute(name)) return []
    if (isStatementAttribute(name)) return [[name, describeQuery(system, String(value), redactor).text]]
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
