import { decodeCharacters } from '../../../../lib/redact/mask-markup.ts'
import { toOneLine } from '../../profile/format.ts'
import type { RefusedField } from '../../subjects/validation/read.ts'

/** What a page says about a refused form. */
interface RefusingPage {
  /** The fields that are marked with `aria-invalid`, with the texts that these name. */
  readonly fields: readonly RefusedField[]
  /** Its only alert, or its only text of the class `error`; empty without one. */
  readonly alert: string
}

/** Reads what a page of HTML says to the users of screen readers, as WAI-ARIA defines it. */
export function readRefusingPage(html: string): RefusingPage {
  // What stands in these elements is no text of the page.
  const [first = '', ...others] = html.split(/<(?:!--|script|style|template)/i)
  const parts = others.map(part =>
    part.slice((/-->|<\/(?:script|style|template)/i.exec(part)?.index ?? part.length) + 1),
  )
  const elements = listElements([first, ...parts].join(' '))
  const byId = new Map(elements.map(element => [element.attributes.get('id'), element]))
  const shown = elements.filter(({ attributes, text }) => text !== '' && !attributes.has('hidden'))
  const alerts = shown.filter(element => element.attributes.get('role') === 'alert' && !isOther(element))
  const errors = alerts.length > 0 ? alerts : shown.filter(({ attributes }) => /\berror\b/.test(classOf(attributes)))
  const fields = elements
    .filter(({ attributes }) => attributes.get('aria-invalid') === 'true' && attributes.has('name'))
    .map(({ attributes }) => {
      const named = attributes.get('aria-errormessage') ?? attributes.get('aria-describedby') ?? ''
      const described = named.split(' ').flatMap(id => byId.get(id) ?? [])
      // A field may have a hint, too.
      const messages = described.length > 1 ? described.filter(isError) : described
      const field = attributes.get('name') ?? ''
      return { field, message: messages[0]?.text ?? findNaming(field, errors) }
    })
  return { fields, alert: errors.length === 1 ? (errors[0]?.text ?? '') : '' }
}

/** What the first text that begins with the name of a field says about it; empty without one. */
function findNaming(field: string, errors: readonly PageElement[]): string {
  const start = field.toLowerCase()
  const isAbout = ({ text }: PageElement) =>
    text.toLowerCase().startsWith(start) && /^[\s:]/.test(text.slice(start.length))
  const found = start === '' ? undefined : errors.find(isAbout)
  return found?.text.slice(start.length).replace(/^[\s:]+/, '') ?? ''
}

interface PageElement {
  readonly attributes: ReadonlyMap<string, string>
  readonly text: string
}

const startTag = /<([a-z][a-z\d]*)((?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?)>/gi
const attribute = /([^\s=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+)))?/g
const interesting = /\s(?:id|role|aria-invalid|class)\b/i

/** Characters behind a tag in which its text is looked for. */
const textLimit = 1000

function listElements(html: string): PageElement[] {
  return [...html.matchAll(startTag)].flatMap(({ 0: tag, 1: name = '', 2: given = '', index }) => {
    if (!interesting.test(given)) return []
    const attributes = new Map(
      [...given.matchAll(attribute)].map(([, key = '', ...values]) => [
        key.toLowerCase(),
        decodeCharacters(values.find(value => value !== undefined) ?? ''),
      ]),
    )
    const behind = html.slice(index + tag.length, index + tag.length + textLimit)
    const end = behind.toLowerCase().indexOf(`</${name.toLowerCase()}`)
    // Without its end tag, which HTML allows, its own text is known.
    const content = end === -1 ? /^[^<]*/.exec(behind)?.[0] : behind.slice(0, end)
    return { attributes, text: toOneLine(decodeCharacters(content?.replace(/<[^>]*>/g, ' ') ?? '')) }
  })
}

function classOf(attributes: PageElement['attributes']): string {
  return attributes.get('class') ?? ''
}

function isError({ attributes }: PageElement): boolean {
  return /error|invalid/i.test(`${attributes.get('id')} ${classOf(attributes)}`)
}

/** Bootstrap gives all of its alerts this role. */
function isOther({ attributes }: PageElement): boolean {
  return /\b(?:success|info|primary|secondary|light|dark)\b/.test(classOf(attributes))
}
