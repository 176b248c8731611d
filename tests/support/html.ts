/** The text of a page, as it is read. */
export function textOf(html: string): string {
  return plainEquals(html)
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
}

/** HTML in which `=` is written as itself: Handlebars escapes it, which makes links hard to read. */
export function plainEquals(html: string): string {
  return html.replaceAll('&#x3D;', '=')
}

/** Tags with the names of their attributes: what a page is made of, without what it says. */
export function skeletonOf(html: string): string[] {
  return [...html.matchAll(/<([/!]?[a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(
    ([, tag, attributes]) => `${tag}${attributes?.replace(/="[^"]*"/g, '')}`,
  )
}

/** The words of a page, whatever stands between them. */
export function toText(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&[^;]+;/g, entity => String(entities[entity]))
    .replace(/\s+/g, ' ')
}

const entities: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#x27;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&#x3D;': '=',
  '&#x60;': '`',
  '&amp;': '&',
}
