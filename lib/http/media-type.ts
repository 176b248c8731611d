/** The media type of a Content-Type in lower case, without parameters. Empty if there is none. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  if (contentType === null || contentType === undefined) return ''
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** The charset that a Content-Type names, as it is; `undefined` without one. */
export function charsetOf(contentType: string | undefined): string | undefined {
  return contentType === undefined ? undefined : /;\s*charset="?([^\s";]+)/i.exec(contentType)?.[1]
}

/** The charset that a Content-Type names, if it is not UTF-8. */
export function otherCharsetOf(contentType: string | undefined): string | undefined {
  const charset = charsetOf(contentType)
  return charset === undefined || /^utf-?8$/i.test(charset) ? undefined : charset
}

/**
 * Whether content of a media type is JSON: `application/json`, `text/json`, and types with the suffix `+json`
 * (RFC 6839, section 3.1; MIME Sniffing Standard, section 4.6). The type is in lower case, without parameters.
 */
export function isJsonType(type: string): boolean {
  return type === 'application/json' || (type.endsWith('json') && otherJsonType.test(type))
}

const otherJsonType = /^(?:text\/json|[!#$%&'*+\-.^_`|~\da-z]+\/[!#$%&'*+\-.^_`|~\da-z]*\+json)$/
