/** Those that mean something are two; more than a handful only cost time. */
const maxParameters = 10

/**
 * The parameters of a header value such as `form-data; name="a"; filename="b"`, with names in lower case (RFC 9110,
 * 5.6.6); `undefined` when they are malformed, repeated or too many. A backslash is itself, since browsers send it so:
 * `name="a\"` ends there. Only a quote that cannot be the end, as in `name="a\"b"`, is escaped by it.
 */
export function parseParameters(value: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>()
  const pattern = /;[ \t]*(?:$|([^\s=;"]+)=(?:"((?:[^"\\]|\\"(?![ \t]*(?:;|$))|\\(?!"))*\\?)"|([^\s;"]+))[ \t]*)/y
  const start = value.indexOf(';')
  pattern.lastIndex = start === -1 ? value.length : start
  while (pattern.lastIndex < value.length) {
    const match = pattern.exec(value)
    if (match === null) return undefined
    const [, name, quoted = '', token] = match
    // A semicolon at the end.
    if (name === undefined) break
    const key = name.toLowerCase()
    if (parameters.has(key) || parameters.size === maxParameters) return undefined
    parameters.set(key, token ?? quoted.replaceAll('\\"', '"'))
  }
  return parameters
}
