import { isSecretName } from './secret-names.ts'

/** Stands for every secret. */
export const mask = '******'

/**
 * Masks what is recognised as secret inside a text by its form: values of secret names in queries, form data, cookies
 * and JSON, the userinfo of URLs, and credentials of authorization schemes. Takes linear time; changes nothing more when
 * called again.
 */
export function maskText(text: string): string {
  return suspicious.test(text) ? maskUserinfo(maskPairs(maskSchemes(maskHeaderLines(maskJson(text))))) : text
}

/** Most texts have nothing of what the steps look for, and this is ten times faster than to take them. */
const suspicious = /[=@]|["']:|%3d|%40|bearer |basic |authorization|cookie:/i

/** `"password":"hunter2"`, also as `util.inspect` writes it. Only a name within quotes is one: prose has colons, too. */
function maskJson(text: string): string {
  return text.replace(
    /(["'])([^"'\s]{1,100})\1(: ?)("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|-?\d[\d.eE+-]*)/gs,
    (pair, quote: string, name: string, colon: string, value: string) => {
      const valueQuote = /^["']/.exec(value)?.[0] ?? '"'
      const isEmpty = value === `${valueQuote}${valueQuote}`
      return isEmpty || !isSecretName(name) ? pair : `${quote}${name}${quote}${colon}${valueQuote}${mask}${valueQuote}`
    },
  )
}

/** `Authorization: …` and `Cookie: name=…`, to the end of the line. */
function maskHeaderLines(text: string): string {
  return text.replace(
    /\b(authorization["']?[:=] ?["']?|cookie: ?(?=[^\s=;]{1,100}=))[^\r\n"'<>]+/gi,
    (_line, name: string) => `${name}${mask}`,
  )
}

/** `Bearer …` unless it is prose; `Basic …` when it is base64 of `user:password` (RFC 7617). */
function maskSchemes(text: string): string {
  return text.replace(/(?<=\b(bearer|basic) {1,8})[^\s"',;<>]+/gi, (value, scheme: string) => {
    const isSecret =
      scheme.toLowerCase() === 'bearer'
        ? !/^(?:tokens?|auth(?:entication|orization)?|scheme|bearer)[.:]?$/i.test(value)
        : Buffer.from(value, 'base64').includes(':')
    return isSecret ? mask : value
  })
}

/**
 * `?token=…`, `&user[password]=…`, `sid=…`, and `token%3D…` as in a URL within a query. By hand, because a regular
 * expression would try every start of every name.
 */
function maskPairs(text: string): string {
  let masked = ''
  let done = 0
  let after = 0
  for (const separator of text.matchAll(/=|%3d/gi)) {
    const name = nameBetween(text, after, separator.index)
    after = separator.index + separator[0].length
    if (separator.index < done || !isSecretName(name)) continue
    const [start, end] = findValue(text, after)
    if (start === end) continue
    masked += text.slice(done, start) + mask
    done = end
  }
  return masked + text.slice(done)
}

function nameBetween(text: string, from: number, to: number): string {
  let start = to
  while (start > from && /[\w.%[\]-]/.test(text.charAt(start - 1))) start--
  const name = text.slice(start, to)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Where a value begins and ends; within quotes it may have spaces. */
function findValue(text: string, from: number): [start: number, end: number] {
  const quote = text.charAt(from)
  if (quote === '"' || quote === "'") {
    const closing = text.indexOf(quote, from + 1)
    return [from + 1, closing === -1 ? text.length : closing]
  }
  const delimiter = /[&#\s"'<>`]|;(?=\s|$)|\\(?=["'nrt])/g
  delimiter.lastIndex = from
  return [from, delimiter.exec(text)?.index ?? text.length]
}

/**
 * `//user:password@host`: all of the userinfo, because a token may stand where the user does. Also percent-encoded, as
 * in a URL within a query.
 */
function maskUserinfo(text: string): string {
  return text
    .replace(/\/\/[^\s"'<>`]+/g, url => url.split('//').map(maskAuthority).join('//'))
    .replace(/(?<=%2f%2f)(?:(?!%(?:2[36f]|3f))[^\s"'<>`/?#&])+(?=%40)/gi, mask)
}

function maskAuthority(part: string): string {
  const authority = part.slice(0, part.search(/[/?#]|$/))
  let at = authority.lastIndexOf('@')
  // A password with a slash that nobody encoded: what follows the colon is no port.
  if (at === -1 && /^[^[:]*:(?!\d*$)/.test(authority)) at = part.lastIndexOf('@')
  return at > 0 ? mask + part.slice(at) : part
}
