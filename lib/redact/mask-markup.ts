import { isAdvice } from './prose.ts'
import { findWords } from './secret-forms.ts'
import { mask, type NameTest, namesIn } from './secret-names.ts'

/** Masks texts and recognises secret names; a Redactor does. */
interface MarkupMasker {
  text(text: string): string
  readonly isSecret: NameTest
}

/** A text or the value of an attribute, with an escaped character. */
const escapedPart = /(?<![^<>"'])[^<>"'&]*&[^<>"']*/g
const escaped = /&(?:#|amp|quot|lt|gt|apos)/i

/** Masks the secrets in HTML or XML: all that `masker.text` masks, also with escaped characters. Takes linear time. */
export function maskMarkup(markup: string, masker: MarkupMasker): string {
  // First: in a text, the semicolon of `&#39;` would end a value.
  const plain = markup.replace(escapedPart, part => {
    const text = escaped.test(part) ? decodeCharacters(part) : part
    const masked = text === part ? part : masker.text(text)
    return masked === text ? part : masked.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
  })
  return masker.text(plain)
}

const characters = new Map(Object.entries({ amp: '&', quot: '"', apos: "'", lt: '<', gt: '>' }))

/** Decodes escaped characters of HTML and XML: those by number, and the five that both have. */
export function decodeCharacters(text: string): string {
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, decode)
}

function decode(all: string, hex?: string, decimal?: string, name = ''): string {
  const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return point <= 0x10ffff ? String.fromCodePoint(point) : (characters.get(name.toLowerCase()) ?? all)
}

/** A tag and the text behind it. In each place at most three matches are tried, so the time is linear. */
const tagAndText = /<(\/?)([A-Za-z_][\w.:-]{0,100})((?:[\s/](?:[^<>"']|"[^"]*"|'[^']*')*)?)>([^<]*)/g
/** Elements without an end: the text behind them is not theirs. */
const isVoid = /^(?:input|meta)$/i
/** Elements with a name, and elements with its value: tables, terms, labels, property lists, and structs of XML-RPC. */
const naming = /<(?:dt|th|td|label|strong|b|key|name)>/i
const holding = /<(?:dd|td|span|code|output|string|data|date|integer|real|value)>/i
const heldValue = /(\s(?:value|content)\s{0,20}=\s{0,20})(?:"[^"]+"|'[^']+'|[^\s"'<>=`\\]+)/gi
/** Elements that explain an input, such as those with the id `email-error`. */
const explaining = /error|invalid|feedback|message|help/i
const isText = /^(?:div|li|p|small|span)$/
/** Characters of content in which the end tag is looked for. */
const contentLimit = 4000

/**
 * Masks in XML or HTML the content and the value of an element with a secret name (`<password>x</password>`,
 * `<input name="apiKey" value="x">`), and the cells behind the cell with a secret name, and below it.
 */
export function maskElements(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  /** The tags since the last text, and whether that text is a secret name. */
  let tags = ''
  let isNamed = false
  let column = -1
  const columns = new Set<number>()
  const heads: number[] = []
  const write = (start: number, end: number, replacement: string) => {
    masked += text.slice(done, start) + replacement
    done = end
  }
  for (const { 0: all, 1: end, 2: name = '', 3: attributes = '', 4: content = '', index } of text.matchAll(
    tagAndText,
  )) {
    if (index < done) continue
    const tag = name.toLowerCase()
    const start = index + all.length - content.length
    const isField = (findWords(attributes) & 1) !== 0 && namesIn(attributes, 'value').some(isSecret)
    if (isField || (isNamed && tag === 'input'))
      write(start - attributes.length - 1, start - 1, attributes.replace(heldValue, `$1"${mask}"`))
    const label = content.length < 100 ? content.replace(/:\s*$/, '').trim() : ''
    // The key of a property list is the name of the next element.
    if (end === '' && (isField || isSecret(name)) && !isVoid.test(name) && !(tag === 'key' && isSecret(label))) {
      const close = findContentEnd(text, name, start)
      const held = text.slice(start, close).trim()
      const isExplaining = isText.test(tag) && explaining.test(attributes)
      if (held !== '' && !(isExplaining && isAdvice(held))) write(start, close, mask)
    }
    tags += `<${end}${tag}>`
    if (tag === 'table') columns.clear()
    if (end === '' && /^t[rdh]$/.test(tag)) {
      column = tag === 'tr' ? -1 : column + 1
      // The names in a row with values are those of the values beside them.
      if (tag === 'td') for (const head of heads) columns.delete(head)
      if (tag !== 'th') heads.length = 0
    }
    if (content.trim() === '') continue
    const isCell = tags.lastIndexOf('<td>') > Math.max(tags.lastIndexOf('<th>'), tags.lastIndexOf('<tr>'))
    const isBeside = isNamed && !/<\/?tr>/.test(tags)
    if ((isCell && columns.has(column)) || (isBeside && holding.test(tags))) write(start, start + content.length, mask)
    isNamed = label !== '' && naming.test(tags) && isSecret(label)
    if (isNamed && !isCell && tags.includes('<th>')) heads.push(columns.add(column).size && column)
    tags = ''
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
