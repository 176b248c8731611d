import { mask, type NameTest } from './secret-names.ts'

const tag =
  /<(input|meta|button|option|param|data|property|setting|add)(?=[\s/])((?:[^<>"']|"[^"]{0,2000}"|'[^']{0,2000}'){1,2000})>/gi
const attribute = /([^\s"'>/=]{1,100})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/g
const naming = /^(?:name|id|key|property|http-equiv)$/i
const holding = /^(?:value|content)$/i

/** A name in a cell or a term, and its value in the next one. */
const pair =
  /(<(dt|th|td|label|strong|b)(?:\s[^<>]{0,200})?>\s{0,20}([^<>]{1,60}?):?\s{0,20}<\/\2>\s{0,20}<(dd|td|span|code|output)(?:\s[^<>]{0,200})?>)([^<>]{1,2000})(?=<)/gi

/** A text or the value of an attribute that contains an escaped character. */
const escaped = /[^<>"'&]{0,10000}&(?:#|amp|quot|lt|gt|apos)[^<>"']{0,10000}/gi

/** Masks texts and recognises secret names; a Redactor does. */
interface MarkupMasker {
  text(text: string): string
  readonly isSecret: NameTest
}

/**
 * Masks the secrets in HTML or XML. In addition to `masker.text`: secrets with escaped characters, values of form fields
 * and of `meta` with secret names, in any order of the attributes and without quotes, of password fields, and values behind
 * a secret name in tables and lists. Takes linear time.
 */
export function maskMarkup(markup: string, masker: MarkupMasker): string {
  const { isSecret } = masker
  return masker
    .text(markup)
    .replace(escaped, part => maskEscaped(part, masker))
    .replace(tag, (element: string, _name: string, attributes: string) =>
      isSecretField(attributes, isSecret) ? element.replace(attribute, maskHeld) : element,
    )
    .replace(pair, (all: string, head: string, _element: string, name: string) =>
      isSecret(name.trim()) ? head + mask : all,
    )
}

function maskEscaped(part: string, masker: MarkupMasker): string {
  const text = decodeCharacters(part)
  const masked = masker.text(text)
  return masked === text ? part : masked.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

const characters: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
  ['lt', '<'],
  ['gt', '>'],
])

function decodeCharacters(text: string): string {
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|quot|apos|lt|gt));/gi, (all, hex, decimal, name) => {
    if (name !== undefined) return String(characters.get(String(name).toLowerCase()))
    const point = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : all
  })
}

function isSecretField(attributes: string, isSecret: NameTest): boolean {
  for (const [, name = '', double, single, plain] of attributes.matchAll(attribute)) {
    const value = String(double ?? single ?? plain)
    if (naming.test(name) && isSecret(value)) return true
    if (/^type$/i.test(name) && /^password$/i.test(value)) return true
  }
  return false
}

/** An empty value stays empty. */
function maskHeld(all: string, name: string, double?: string, single?: string, plain?: string): string {
  const isEmpty = (double ?? single ?? plain) === ''
  return holding.test(name) && !isEmpty ? `${name}="${mask}"` : all
}
