import { mask } from './secret-names.ts'

const objectBefore = new RegExp(
  '(?:(?:alias|collation|collection|column|command|constraint|cursor|database|domain|drop|engine|enum|extension|field|function|' +
    'index|key|object|operator|option|parameter|relation|role|savepoint|schema|sequence|set:?|statement|table|trigger|type|user|' +
    'value for|variable|view)(?: name)? |@)$',
  'i',
)
/** The parts of a statement that MySQL and MariaDB name: `Unknown column 'x' in 'WHERE'`. */
const partOfStatement =
  /^(?:field list|\w+ (?:clause|statement)|select|where|on|having|(?:group|order) by|set|values|returning)$/i

/** A quoted text behind a blank or a bracket. Other quotes are parts of words. */
const opening = /(?<![^\s([=,@])(['"])([^'"]*)\1?/g

/**
 * Masks the values in the message of an error of a database. Databases quote names and values in
 * it, without escapes. A quoted text that is the name of an object, or consists of words of the
 * statement shape, stays. From the first other one, the message is masked until its last quote:
 * the value may contain quotes. Masking a masked message changes nothing.
 */
export function maskQuotedValues(text: string, shape: string): string {
  const words = new Set<string>(shape.toLowerCase().match(/\w+/g))
  for (const { 0: quoted, 1: quote = '', 2: content = '', index } of text.matchAll(opening)) {
    const isName = objectBefore.test(text.slice(Math.max(0, index - 25), index)) && /^[\w.$ -]+$/.test(content)
    const isKnown = content
      .toLowerCase()
      .split(/[\s.]+/)
      .every(word => words.has(word))
    if (isName || isKnown || content === mask || partOfStatement.test(content)) continue
    // Without its end, the value is the rest of the message.
    const tail = quoted.length === content.length + 1 || isCut(text) ? '' : tailOf(text.slice(index + 1))
    return `${maskKeys(text.slice(0, index))}${quote}${mask}${quote}${maskKeys(tail)}`
  }
  return maskKeys(text)
}

/** The part behind the last quoted value. MySQL names the key or column of the value there. */
function tailOf(text: string): string {
  const last = Math.max(text.lastIndexOf("'"), text.lastIndexOf('"'))
  const [named = ''] = / for (?:key|column) '[\w.$-]+'$/.exec(text.slice(0, last + 1)) ?? []
  // A quote within a word is a part of the value.
  return /^[^\s)\].,;:]/.test(text.slice(last + 1)) ? named : named + text.slice(last + 1)
}

/** PostgreSQL: Key (email)=(ada@example.org) already exists. */
function maskKeys(text: string): string {
  const from = text.indexOf('=(')
  const to = text.lastIndexOf(')')
  // Without its end, the value is the rest of the message.
  return from === -1 ? text : `${text.slice(0, from)}=(${mask}${to < from || isCut(text) ? '' : text.slice(to)}`
}

/** Whether the message was cut: its last quote or bracket may be one of the value. */
function isCut(text: string): boolean {
  return text.endsWith('…')
}
