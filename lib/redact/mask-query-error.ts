import type { Redactor } from './redactor.ts'

/** Characters of a message that are kept. */
const textLimit = 4000
/** Characters that are masked: half a secret is not recognised. */
const readLimit = 16_384

const objectBefore =
  /(?:table|relation|column|constraint|index|key|function|type|database|schema|view|role|user|collection) $/i

/**
 * Masks the message of an error of a database. Databases quote names and values in it, without escapes. A quoted text that
 * is the name of an object, or consists of words of the statement shape, stays. From the first other one, the message is
 * masked until its last quote: the value may contain quotes. At most 4,000 characters are left.
 */
export function maskQueryError(message: string, shape: string, redactor: Pick<Redactor, 'text'>): string {
  const words = new Set<string>(shape.match(/\w+/g))
  const masked = maskArguments(redactor.text(message.slice(0, readLimit)).slice(0, textLimit))
  for (const { 0: quoted, 2: content = '', index } of masked.matchAll(/(?<!\w)(['"])([^'"]*)\1?/g)) {
    const isName = objectBefore.test(masked.slice(Math.max(0, index - 20), index)) && /^[\w.$ -]+$/.test(content)
    const isKnown = content.split(/[\s.]+/).every(word => words.has(word))
    if (isName || isKnown || /^(?:field list|\w+ clause)$/.test(content)) continue
    // Without its end, the value is the rest of the message.
    const tail = quoted.length === content.length + 1 ? '' : tailOf(masked.slice(index + 1))
    return `${maskKeys(masked.slice(0, index))}'?'${maskKeys(tail)}`
  }
  return maskKeys(masked)
}

/** The part behind the last quoted value. MySQL names the key or column of the value there. */
function tailOf(text: string): string {
  const last = Math.max(text.lastIndexOf("'"), text.lastIndexOf('"'))
  const [named = ''] = / for (?:key|column) '[\w.$-]+'$/.exec(text.slice(0, last + 1)) ?? []
  return named + text.slice(last + 1)
}

/** Redis: unknown command `x`, with args beginning with: `a`, `b` */
function maskArguments(text: string): string {
  return text.replace(/(with args beginning with: )[\s\S]+/, '$1?')
}

/** PostgreSQL: Key (email)=(ada@example.org) already exists. */
function maskKeys(text: string): string {
  const from = text.indexOf('=(')
  const to = text.lastIndexOf(')')
  // Without its end, the value is the rest of the message.
  return from === -1 ? text : `${text.slice(0, from)}=(?${to < from ? '' : text.slice(to)}`
}
