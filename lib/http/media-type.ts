/** The media type of a Content-Type in lower case, without parameters. Empty if there is none. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  if (contentType === null || contentType === undefined) return ''
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/**
 * Whether content of a media type is JSON: `application/json`, `text/json`, and types with the suffix `+json` (RFC 6839, section 3.1;
 * MIME Sniffing Standard, section 4.6). The type is in lower case, without parameters.
 */
export function isJsonType(type: string): boolean {
  return type === 'application/json' || (type.endsWith('json') && otherJsonType.test(type))
}

const otherJsonType = /^(?:text\/json|[!#$%&'*+\-.^_`|~\da-z]+\/[!#$%&'*+\-.^_`|~\da-z]*\+json)$/
