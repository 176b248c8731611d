import { mask, type NameTest } from './secret-names.ts'

/** In each place at most three matches are tried, so the time is linear. */
const element = /<([A-Za-z_][\w.:-]{0,100})((?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?)>/g
const attribute = /(?<![^\s"'>/=])([^\s"'>/=]{1,100})\s{0,20}=\s{0,20}(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/g
const naming = /^(?:name|id|key|property|http-equiv)$/i
const holding = /^(?:value|content)$/i
/** Elements without an end: the text behind them is not theirs. */
const isVoid = /^(?:input|meta)$/i

/** A name in a cell or a term, and its value in the next one, which may be the name of a third one. */
const pair =
  /<(dt|th|td|label|strong|b)(?:\s[^<>]{0,200})?>([^<>]{1,100})<\/\1>(?=(\s{0,20}<(?:dd|td|span|code|output)(?:\s[^<>]{0,200})?>(?:\s{0,20}<(?:a|b|code|div|em|i|kbd|p|pre|span|strong)(?:\s[^<>]{0,200})?>){0,3})([^<>]+))/gi

/** A text or the value of an attribute. */
const part = /[^<>"']+/g
const escaped = /&(?:#|amp|quot|lt|gt|apos)/i

/** Masks texts and recognises secret names; a Redactor does. */
interface MarkupMasker {
  text(text: string): string
  readonly isSecret: NameTest
}

/**
 * Masks the secrets in HTML or XML. In addition to `masker.text`: secrets with escaped characters, and values behind a
 * secret name in tables and lists. Takes linear time.
 */
export function maskMarkup(markup: string, masker: MarkupMasker): string {
  // First: in a text, the semicolon of `&#39;` would end a value.
  const plain = markup.replace(part, text =>
    text.includes('&') && escaped.test(text) ? maskEscaped(text, masker) : text,
  )
  return maskPairs(masker.text(plain), masker.isSecret)
}

/** Characters of content in which the end tag is looked for. */
const contentLimit = 4000

/** Masks contents and values of elements with secret names: `<password>x</password>`, `<input name="apiKey" value="x">`. */
export function maskElements(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const { 0: tag, 1: name = '', 2: attributes = '', index } of text.matchAll(element)) {
    const isField = isSecretField(attributes, isSecret)
    if (index < done || !(isField || isSecret(name))) continue
    const start = index + tag.length
    const end = isVoid.test(name) ? start : findContentEnd(text, name, start)
    masked += text.slice(done, index) + (isField ? tag.replace(attribute, maskHeld) : tag)
    masked += text.slice(start, end).trim() === '' ? text.slice(start, end) : mask
    done = end
  }
  return masked + text.slice(done)
}

/** Without a tag behind it, there is no content: `Usage: login <password>`. */
function findContentEnd(text: string, name: string, start: number): number {
  const close = text.slice(start, start + contentLimit).indexOf(`</${name}`)
  if (close !== -1) return start + close
  const next = text.indexOf('<', start)
  return text.charAt(next + 1) === '/' ? next : start
}

function maskPairs(markup: string, isSecret: NameTest): string {
  let masked = ''
  let end = 0
  for (const { 0: cell, 2: name = '', 3: between = '', 4: value = '', index } of markup.matchAll(pair)) {
    if (!isSecret(name.replace(/:\s*$/, '').trim())) continue
    const start = index + cell.length + between.length
    masked += markup.slice(end, start) + mask
    end = start + value.length
  }
  return masked + markup.slice(end)
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
    if (name !== undefined) return characters.get(String(name).toLowerCase()) ?? all
    const point = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : all
  })
}

function isSecretField(attributes: string, isSecret: NameTest): boolean {
  for (const [, name = '', double, single, plain] of attributes.matchAll(attribute)) {
    const value = double ?? single ?? plain ?? ''
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
