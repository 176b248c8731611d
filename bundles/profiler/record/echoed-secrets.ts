import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import { mask, type NameTest } from '../../../lib/redact/secret-names.ts'
import { escapeRegExp } from '../../../lib/text/escape-reg-exp.ts'

/** A shorter secret would also mask parts of ordinary words. */
const shortest = 6

/** A cookie with an ordinary name, such as `theme`, has an ordinary value, unless it is long. */
const shortestCookie = 16

/** The most values of a request that are looked for. */
const limit = 100

/**
 * Creates a function that masks the secrets of a request in the text of its response: an application may show a token that
 * the client has sent, or that it has just set as a cookie.
 */
export function createEchoMask(
  request: Request,
  { headers }: Pick<Response, 'headers'>,
  isSecret: NameTest,
): (text: string) => string {
  const secrets = new Set([...findSecrets(request, isSecret), ...findCookies(headers.getAll('set-cookie'), isSecret)])
  const forms = [...secrets].slice(0, limit).flatMap(secret => [secret, encodeURIComponent(secret.toWellFormed())])
  if (forms.length === 0) return text => text
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g')
  return text => text.replace(pattern, mask)
}

function* findSecrets({ body, cookies, headers, query }: Request, isSecret: NameTest): Generator<string> {
  for (const [name, value] of cookies) if (isLong(name, value, isSecret)) yield value
  for (const [name, value] of headers) {
    // In an authorization the secret follows the scheme, such as `Bearer`.
    const secret = value.replace(/^[A-Za-z]+ +/, '')
    if (name !== 'cookie' && secret.length >= shortest && isSecret(name)) yield secret
  }
  for (const fields of [query, body.peek().form ?? []]) {
    for (const [name, value] of fields) {
      if (typeof value === 'string' && value.length >= shortest && isSecret(name)) yield value
    }
  }
}

function* findCookies(fields: readonly string[], isSecret: NameTest): Generator<string> {
  for (const field of fields) {
    const [pair = ''] = field.split(';', 1)
    const at = pair.indexOf('=')
    const value = pair.slice(at + 1)
    if (isLong(pair.slice(0, at), value, isSecret)) yield value
  }
}

function isLong(name: string, value: string, isSecret: NameTest): boolean {
  return value.length >= (isSecret(name) ? shortest : shortestCookie)
}
