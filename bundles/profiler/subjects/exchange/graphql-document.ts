/** A definition of a document that can be executed. */
interface Definition {
  /** `query`, `mutation` or `subscription`. */
  readonly kind: string
  name: string
  /** The first fields, without their aliases. */
  readonly fields: string[]
}

/**
 * Names the operation of a GraphQL document (September 2025, section 2): `query Books`, or
 * `query { books, authors }` of one without a name. `wanted` selects one of several. `undefined`
 * for a text that is no such document. The text may have been cut after its beginning.
 */
export function nameDocument(text: string, wanted: string | undefined): string | undefined {
  const definitions = readDefinitions(text)
  const operations = definitions?.filter(({ kind }) => kind !== 'fragment') ?? []
  const found = operations.find(({ name }) => name === wanted) ?? operations[0]
  if (found === undefined || (found.name === '' && found.fields.length === 0)) return undefined
  const { fields, kind, name } = found
  return `${kind} ${name || `{ ${fields.slice(0, fieldsShown).join(', ')}${fields.length > fieldsShown ? ', …' : ''} }`}`
}

const fieldsShown = 3

/** Names, texts, numbers, punctuators and what is ignored. Masks are asterisks. */
const token =
  /"""[\s\S]*?(?:"""|$)|"(?:\\.|[^"\\\n])*(?:"|$)|#[^\n\r]*|[A-Za-z_]\w*|\.\.\.|[!$&()*:=@[\]{|}]|-?\d[\d.eE+-]*|[\s,\ufeff]+/y

/** Marks the place after which a stored text was cut. */
const cut = '…'

function readDefinitions(text: string): Definition[] | undefined {
  const definitions: Definition[] = []
  let current: Definition | undefined
  let before = ''
  let braces = 0
  let parentheses = 0
  token.lastIndex = 0
  while (token.lastIndex < text.length && !text.startsWith(cut, token.lastIndex)) {
    const [word] = token.exec(text) ?? []
    if (word === undefined) return undefined
    if (/^[\s,#\ufeff]/.test(word)) continue
    if (word === '(') parentheses++
    else if (word === ')') parentheses--
    else if (parentheses > 0) continue
    // Only arguments have texts and numbers.
    else if (/^["\d-]/.test(word)) return undefined
    else if (word === '{') {
      if (braces === 0) current ??= begin(definitions, 'query')
      braces++
    } else if (word === '}') {
      braces--
      if (braces === 0) current = undefined
    } else if (braces === 0) {
      if (current === undefined) {
        if (!/^(?:query|mutation|subscription|fragment)$/.test(word)) return undefined
        current = begin(definitions, word)
      } else if (before === current.kind && isName(word)) current.name = word
    } else if (braces === 1) {
      if (before === ':') current?.fields.pop()
      if (word === '...') current?.fields.push('…')
      else if (isName(word) && !['@', 'on', '...'].includes(before)) current?.fields.push(word)
    }
    if (braces < 0 || parentheses < 0) return undefined
    before = word
  }
  const isWhole = braces === 0 && parentheses === 0 && current === undefined
  return isWhole || text.includes(cut) ? definitions : undefined
}

function begin(definitions: Definition[], kind: string): Definition {
  const definition: Definition = { kind, name: '', fields: [] }
  definitions.push(definition)
  return definition
}

function isName(word: string): boolean {
  return /^[A-Za-z_]/.test(word)
}
