import type { Request } from '../../../lib/http/request.ts'
import type { View } from '../../../lib/view/view.ts'

/** Bytes of a page. */
const pageLimit = 60_000

/** Bytes of the links to the other parts. */
const linksLimit = 2000

/**
 * Gives a page as it is, or a part of one that is too large: the part of the query, `part=2`, or that which has the element
 * with the id of the query, `find=log-4`. Its end has links to the other parts. A page without an address of its own has no
 * other parts: it leads to `rest`, where all of it is.
 */
export async function fitPage(html: string, { path, query }: Request, view: View, rest?: string): Promise<string> {
  if (Buffer.byteLength(html) <= pageLimit) return html
  const begin = html.indexOf('>', html.indexOf('<main')) + 1
  const end = html.lastIndexOf('</main>')
  const [before, after] = [html.slice(0, begin), html.slice(end)]
  const parts = divideHtml(html.slice(begin, end), pageLimit - linksLimit - Buffer.byteLength(before + after))
  const find = query.get('find')
  const found = find === null ? 0 : 1 + parts.findIndex(part => part.includes(` id="${find}"`))
  const part = found || Math.min(parts.length, Math.max(1, Math.trunc(Number(query.get('part'))) || 1))
  const linkTo = (part: number) => {
    const parameters = new URLSearchParams(query)
    parameters.delete('find')
    parameters.set('part', String(part))
    return `${path}?${parameters}`
  }
  const links = await view.render('profiler/parts', {
    part,
    parts: parts.length,
    rest,
    isWhole: rest === undefined,
    previousLink: part > 1 && linkTo(part - 1),
    nextLink: part < parts.length && linkTo(part + 1),
  })
  return before + (parts[part - 1] ?? '') + links + after
}

/** Bytes of an attribute; a longer one is left out of a divided text. */
const attributeLimit = 2000

/** What is smaller than this share of a part is not divided. */
const smallShare = 1 / 10

/** Bytes of a text that a part has room for in any case. */
const leastText = 100

/** A heading is repeated if it takes less than this share of a part. */
const headingShare = 1 / 20
const markedShare = 1 / 3

const tag = /<!--[\s\S]*?-->|<\/?[a-z][^\s/>]*(?:"[^"]*"|'[^']*'|[^"'>])*>/gi
const voidElements = /^<(?:area|base|br|col|hr|img|input|link|meta|source|track|wbr)\b|\/>$/i

/** The parts of an element that belong to each part of it: the heads of sections, tables, rows and folded details. */
const headings = /^(?:h[1-6]|thead|th|caption|legend|summary)$/

/** Rows and items that a filter hides: the server filters a divided page. */
const hiddenRow = /^<(?:tr|li)\b[^>]*\shidden[\s>]/i

/** A text, or an element with its tags. */
interface Node {
  readonly open: string
  readonly name: string
  readonly children: Node[]
  readonly close: string
  /** Bytes with all within it. */
  size: number
}

/**
 * Divides HTML into parts of at most `limit` bytes. Each part is complete: it repeats the elements around its beginning with
 * their headings, and the elements with the attribute `data-each-part`. A single text or list is divided if it is too long.
 */
export function divideHtml(html: string, limit: number): string[] {
  const divider = new Divider(limit)
  divider.add(parse(html))
  return divider.end()
}

class Divider {
  readonly #limit: number
  readonly #parts: string[] = []
  /** The open elements, each with those of its children that the next part repeats. */
  readonly #around: { readonly node: Node; readonly heads: Node[] }[] = []
  #html = ''
  #size = 0
  /** The bytes of the tags that a part opens and closes around its content. */
  #frame = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(node: Node): void {
    const isSmall = node.size <= this.#limit * smallShare
    if (isSmall && this.#size + node.size > this.#limit && this.#size > this.#frame) this.#begin()
    if (this.#size + node.size <= this.#limit) this.#write(toHtml(node), node.size)
    else if (node.name === '') this.#addText(node.open)
    else this.#addParts(node)
    this.#keepHead(node)
  }

  end(): string[] {
    this.#parts.push(this.#html)
    return this.#parts
  }

  #write(html: string, size: number): void {
    this.#html += html
    this.#size += size
  }

  #addParts(node: Node): void {
    const tags = Buffer.byteLength(node.open + node.close)
    if (this.#size + 2 * tags > this.#limit && this.#size > this.#frame) this.#begin()
    this.#around.push({ node, heads: [] })
    // The closing tag is part of the size from here on.
    this.#write(node.open, tags)
    for (const child of node.children) this.add(child)
    this.#around.pop()
    this.#html += node.close
  }

  #addText(text: string): void {
    let left = Buffer.from(text)
    while (left.length > 0 && this.#size + left.length > this.#limit) {
      const room = this.#limit - this.#size
      const end = findEnd(left, this.#size > this.#frame ? room : Math.max(leastText, room))
      this.#write(left.subarray(0, end).toString(), end)
      left = left.subarray(end)
      this.#begin()
    }
    this.#write(left.toString(), left.length)
  }

  /** Ends a part, and begins the next one within the same elements. */
  #begin(): void {
    const closing = this.#around.map(({ node }) => node.close).reverse()
    this.#parts.push(this.#html + closing.join(''))
    this.#html = ''
    this.#size = 0
    for (const { heads, node } of this.#around) {
      const { close, name } = node
      const open = name === 'details' && !/\sopen[\s>]/.test(node.open) ? node.open.replace(/>$/, ' open>') : node.open
      this.#write(open, Buffer.byteLength(open + close))
      // Elements may be deep within each other.
      for (const head of heads) if (this.#size + head.size < this.#limit / 2) this.#write(toHtml(head), head.size)
    }
    this.#frame = this.#size
  }

  #keepHead(node: Node): void {
    const share = node.open.includes(' data-each-part') ? markedShare : headings.test(node.name) ? headingShare : 0
    const heads = this.#around.at(-1)?.heads
    if (node.size < this.#limit * share) heads?.push(node)
    // A cell keeps its column.
    else if (/^t[dh]$/.test(node.name)) heads?.push(toNode(node.open, node.name, node.close))
  }
}

/** The end of as much text as there is room for, not within a character or its reference: `&amp;`. */
function findEnd(text: Buffer, room: number): number {
  let end = Math.max(0, room)
  while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end--
  const begin = Math.max(0, end - referenceLength)
  const reference = text.subarray(begin, end).lastIndexOf('&')
  return reference === -1 || text.subarray(begin + reference, end).includes(';') ? end : begin + reference
}

/** Bytes of the longest reference that Handlebars writes, and some more. */
const referenceLength = 10

function toHtml({ children, close, open }: Node): string {
  return open + children.map(toHtml).join('') + close
}

/** Reads HTML into one element without tags. An end without a beginning is left out, a missing end is added. */
function parse(html: string): Node {
  const root = toNode('', 'root')
  const around = [root]
  const end = () => {
    const node = around.pop() as Node
    for (const child of node.children) node.size += child.size
    const parent = around.at(-1)
    if (!hiddenRow.test(node.open)) parent?.children.push(node)
  }
  let from = 0
  for (const { 0: found, index } of html.matchAll(tag)) {
    around.at(-1)?.children.push(toNode(html.slice(from, index)))
    from = index + found.length
    const [, name = ''] = /^<\/?([a-z][\w-]*)/i.exec(found) ?? []
    if (found.startsWith('</')) {
      const at = around.findLastIndex(node => node.name === name)
      while (at > 0 && around.length > at) end()
    } else if (voidElements.test(found)) around.at(-1)?.children.push(toNode(cutAttributes(found), name))
    else if (!found.startsWith('<!')) around.push(toNode(cutAttributes(found), name, `</${name}>`))
  }
  around.at(-1)?.children.push(toNode(html.slice(from)))
  while (around.length > 0) end()
  return root
}

function toNode(open: string, name = '', close = ''): Node {
  return { open, name, children: [], close, size: Buffer.byteLength(open + close) }
}

function cutAttributes(open: string): string {
  return open.length <= attributeLimit
    ? open
    : open.replaceAll(/\s[^\s"=]+="([^"]*)"/g, (attribute, value: string) =>
        value.length > attributeLimit ? '' : attribute,
      )
}
