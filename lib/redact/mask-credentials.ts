import { findLineEnd } from './scan.ts'
import { mask } from './secret-names.ts'

/** Schemes of authorization. */
export const schemeNames = 'bearer basic digest ntlm negotiate kerberos token apikey'.split(' ')
const schemes = /(?<![\w/-])(bearer|basic|digest|ntlm|negotiate|kerberos|token|apikey)[ \t]{1,8}(?=([^\s"',;<>\\]+))/gi
const proseBehindScheme =
  /^(?:tokens?|auth\w*|schemes?|bearer|of|is|was|in|for|the|and|or|not|realm|error|expired|invalid|missing|required|must)(?:[.:=!?]|$)/i

/** Masks the credentials behind the name of a scheme: `Bearer …`, `Digest username="…", …`, and `Basic …` with base64. */
export function maskSchemes(text: string): string {
  let masked = ''
  let done = 0
  for (const match of text.matchAll(schemes)) {
    const [prefix, scheme = '', value = ''] = match
    const from = match.index + prefix.length
    if (match.index < done || !isCredential(scheme.toLowerCase(), value, text, match.index)) continue
    const isList = /^\w{1,40}=/.test(value) && /^digest$/i.test(scheme)
    masked += text.slice(done, from) + mask
    done = isList ? findLineEnd(text, from) : from + value.length
  }
  return masked + text.slice(done)
}

function isCredential(scheme: string, value: string, text: string, at: number): boolean {
  if (value.startsWith(mask)) return false
  switch (scheme) {
    case 'bearer':
      return !proseBehindScheme.test(value)
    case 'basic':
      return Buffer.from(value.slice(0, 400), 'base64').includes(':')
    case 'digest':
      // The challenge of a server has neither a user nor a response.
      return /^\w{1,20}=/.test(value) && /[\s,](?:response|username)=/i.test(text.slice(at, at + 500))
    case 'token':
    case 'apikey':
      // "Unexpected token x" is the message of a parser.
      return (
        /^(?=.*\d)[\w.+/=~-]{6,}$/.test(value.slice(0, 400)) && !/[\w,'"] $/.test(text.slice(Math.max(0, at - 2), at))
      )
    default:
      return /^[A-Za-z\d+/=_-]{6,}$/.test(value.slice(0, 400)) && !/^[A-Z]?[a-z]+$/.test(value)
  }
}

/**
 * Masks the userinfo of `//user:password@host`: all of it, because the user may be a token. Also percent-encoded, as in a
 * URL within a query, and without a scheme: `user:password@host`. Takes linear time.
 */
export function maskUserinfo(text: string): string {
  if (!/@|%40/.test(text)) return text
  return (
    text
      // A user of a database without a password is no secret: `postgres://ada@host`.
      .replace(/(?<!\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|ssh|sftp):(?=\/\/[a-z_]{1,30}@))\/\/[^\s"'<>`]+/g, url =>
        url.split('//').map(maskAuthority).join('//'),
      )
      .replace(
        /(?<=\/\/)(?!\d{0,5}[\s"'<>`])([^\s:/@"'<>`?#*[]{0,100}:(?!\d{1,5}(?:[\s"'<>`/?#,;)]|$)))([^@/\r\n]{1,100})@(?=[\w[])/g,
        `${mask}@`,
      )
      .replace(/(?<=%2f%2f)(?:(?!%(?:2[36f]|3f))[^\s"'<>`/?#&])+(?=%40)/gi, mask)
      .replace(bareUserinfo, mask)
  )
}

function maskAuthority(part: string): string {
  const authority = part.slice(0, part.search(/[/?#]|$/))
  let at = authority.lastIndexOf('@')
  // Text behind the colon that is no port: a password with a slash that is not encoded.
  if (at === -1 && /^[^[:]*:(?!\d*$)/.test(authority)) at = part.lastIndexOf('@')
  return at > 0 && part.slice(0, at) !== 'git' ? mask + part.slice(at) : part
}

/** `user:password@host`. Words before the colon of other addresses are no user names. */
const bareUserinfo =
  /(?:(?<![^\s"'<>`,;(){}[\]=@])|(?<=\w:\/))(?!(?:mailto|npm|jsr|pkg|git|ssh|file|link|portal|patch|workspace|acct|sips?|xmpp|im|tel|to|cc|bcc|from|e-?mail):)[\w.+~%-]{1,64}:[^\s"'<>`/\\,;(){}[\]=@]{1,135}(?=@[A-Za-z\d[])/gi

const objectBefore =
  /(?:(?:table|relation|column|constraint|index|key|function|type|database|schema|view|role|user|collection|sequence|trigger|extension|statement|cursor|parameter|option|savepoint|command)(?: name)? |@)$/i

/** A quoted text behind a blank or a bracket. Other quotes are parts of words. */
const opening = /(?<![^\s([=,@])(['"])([^'"]*)\1?/g

/**
 * Masks the values in the message of an error of a database. Databases quote names and values in it, without escapes. A quoted
 * text that is the name of an object, or consists of words of the statement shape, stays. From the first other one, the
 * message is masked until its last quote: the value may contain quotes. Masking a masked message changes nothing.
 */
export function maskQuotedValues(text: string, shape: string): string {
  const words = new Set<string>(shape.match(/\w+/g))
  for (const { 0: quoted, 1: quote = '', 2: content = '', index } of text.matchAll(opening)) {
    const isName = objectBefore.test(text.slice(Math.max(0, index - 25), index)) && /^[\w.$ -]+$/.test(content)
    const isKnown = content.split(/[\s.]+/).every(word => words.has(word))
    if (isName || isKnown || content === mask || /^(?:field list|\w+ clause)$/.test(content)) continue
    // Without its end, the value is the rest of the message.
    const tail = quoted.length === content.length + 1 ? '' : tailOf(text.slice(index + 1))
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
  return from === -1 ? text : `${text.slice(0, from)}=(${mask}${to < from ? '' : text.slice(to)}`
}
