/** A part of a log message. */
export interface MessagePart {
  readonly text: string
  /** Whether it is the value of a placeholder. */
  readonly isValue: boolean
}

const placeholder = /\{[\w.-]+\}/g

/**
 * Splits a log message into its constant sentence and its values. If both do not match, because one was cut, the message
 * is one part. An empty template has no placeholders.
 */
export function splitMessage(message: string, template: string): MessagePart[] {
  const whole = [{ text: message, isValue: false }]
  const placeholders = template.match(placeholder) ?? []
  const [first = '', ...literals] = template.split(placeholder)
  if (!message.startsWith(first)) return whole
  const parts = [{ text: first, isValue: false }]
  let from = first.length
  for (const [index, literal] of literals.entries()) {
    const end = index === literals.length - 1 ? findEnd(message, literal) : message.indexOf(literal, from)
    if (end < from) return whole
    const value = message.slice(from, end)
    parts.push({ text: value, isValue: value !== placeholders[index] }, { text: literal, isValue: false })
    from = end + literal.length
  }
  return from < message.length ? whole : parts.filter(({ text }) => text !== '')
}

function findEnd(message: string, literal: string): number {
  return message.endsWith(literal) ? message.length - literal.length : -1
}
