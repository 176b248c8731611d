import { HTTP_HINT_INVALID } from './errors.ts'

/** Checks the links of a response 103 (RFC 8297). @throws HTTP_HINT_INVALID */
export function checkLinks(links: readonly string[]): void {
  const wrong = links.find(link => !linkPattern.test(link))
  if (wrong !== undefined) throw new HTTP_HINT_INVALID([wrong])
}

/**
 * The links that `writeEarlyHints` of Node accepts, of printable ASCII: Node accepts line breaks beside a semicolon, and
 * sends only the low byte of other characters, which may be a line break. Only one way leads through a text: the time is linear.
 */
const linkPattern = /^<[!-=?-~]*>(?:[ \t]*;[ \t]*[!#-:<>-~]+(?:=(")?[!#-:<-~]*\1)?)*$/
