import type { Request } from '../../../lib/http/request.ts'
import type { View } from '../../../lib/view/view.ts'
import { divideHtml } from './divide-html.ts'

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
