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

/** A tag as a browser reads it; `/p` where it ends something, `!--` for a comment, `<` where nothing begins. */
export interface Tag {
  readonly name: string
  /** With their values as they are written. */
  readonly attributes: readonly (readonly [name: string, value: string])[]
}

const tagPattern = /<(?:(!--)(?:-?>|[\s\S]*?(?:--!?>|$))|([!/?]?[a-z][^\s/>]*)|)/giy
const attributePattern = /[\s/]*(?:(>|$)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>]*)))?)/y

/** Reads the tags of a page as a browser does, whether they are well written or not. */
export function parseTags(html: string): Tag[] {
  const tags: Tag[] = []
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at)) {
    tagPattern.lastIndex = at
    // It takes every "<", if only for itself.
    const [, comment, name] = tagPattern.exec(html) as RegExpExecArray
    at = tagPattern.lastIndex
    const attributes: [string, string][] = []
    tags.push({ name: comment ?? name?.toLowerCase() ?? '<', attributes })
    if (name === undefined) continue
    for (let isOpen = true; isOpen; ) {
      attributePattern.lastIndex = at
      // It takes whatever stands in a tag, and the end of it.
      const [, end, key, ...values] = attributePattern.exec(html) as RegExpExecArray
      at = attributePattern.lastIndex
      isOpen = end === undefined
      if (key !== undefined) attributes.push([key.toLowerCase(), values.find(value => value !== undefined) ?? ''])
    }
  }
  return tags
}

/**
 * Tags with the names of their attributes: what a page is made of, without what it says. A long
 * value has places to break.
 */
export function skeletonOf(html: string): string[] {
  const tags = parseTags(html).map(({ attributes, name }) => [name, ...attributes.map(([key]) => key)].join(' '))
  return tags.filter(tag => tag !== 'wbr')
}

/** Puts the characters in the place of what Handlebars has made of them. */
export function unescapeHtml(html: string): string {
  return html.replace(/&(?:[a-z]+|#x[0-9a-f]+);/gi, entity => entities[entity] ?? entity)
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
