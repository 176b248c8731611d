import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { isCompressible } from '../../../../lib/http/negotiation.ts'
import { isSecretName } from '../../../../lib/redact/secret-names.ts'
import { formatBytes } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import type { CollectorData, Profile } from '../../profile/profile.ts'

/** Finds pages whose cache headers contradict their content: a cookie, `Vary: *`, or a page without personal data. */
export const uncacheableResponseRule: FindingRule<Profile> = {
  name: 'uncacheable-response',
  title: 'Uncacheable response',
  find({ collectors, summary }) {
    const { contentType, method, parent, status } = summary
    // Responses with data often forbid caching on purpose.
    const isPage = method === 'GET' && status === 200 && parent === null && /^text\/html/i.test(contentType ?? '')
    return isPage ? judgeCaching(collectors) : []
  },
}

function judgeCaching(collectors: CollectorData): RuleFinding[] {
  const control = readHeader(collectors.response, 'cache-control').join(', ').toLowerCase()
  const [cookie] = readHeader(collectors.response, 'set-cookie')
  const place = { panel: 'request', anchor: 'header-cache-control' }
  if (/\b(?:public|s-maxage)\b/.test(control)) {
    if (cookie !== undefined)
      return [
        {
          severity: 'error',
          problem: 'The page is cacheable for all clients ({control}), but sets the cookie {cookie}.',
          values: { control, cookie: nameOf(cookie) },
          advice:
            'Set cookies only on private pages: a shared cache drops the cookie, or sends the same one to all clients.',
          place,
          evidence: {},
        },
      ]
    if (readHeader(collectors.response, 'vary').some(vary => vary.trim() === '*'))
      return [
        {
          severity: 'info',
          problem: 'The page is cacheable for all clients ({control}), but with Vary: * no cache can reuse it.',
          values: { control },
          advice: 'List in Vary the request headers that the page depends on.',
          place: { panel: 'request', anchor: 'header-vary' },
          evidence: {},
        },
      ]
  }
  if (/\bno-store\b/.test(control) && cookie === undefined && !isPersonal(collectors))
    return [
      {
        severity: 'info',
        problem: 'The page forbids caching ({control}), but was made without a session, cookies or credentials.',
        values: { control },
        advice: 'If all clients may see it, set how long it is valid: public, max-age=60.',
        place,
        evidence: {},
      },
    ]
  return []
}

/** Whether the response may depend on the client. */
function isPersonal({ request, session }: CollectorData): boolean {
  const hasCredentials = ['cookie', 'authorization'].some(name => readHeader(request, name).length > 0)
  return hasCredentials || (session?.useCount ?? 0) > 0
}

function nameOf(cookie: string): string {
  const [name = ''] = cookie.split('=')
  return name
}

/** Bytes of the initial congestion window (RFC 6928, section 2): compression does not speed up a smaller response. */
const leastSize = 14_600

/** Finds long text responses that were sent uncompressed to a client that accepts compression. */
export const uncompressedResponseRule: FindingRule<Profile> = {
  name: 'uncompressed-response',
  title: 'Response not compressed',
  find({ collectors, summary }) {
    const { contentType, method, parent, status } = summary
    const size = collectors.response?.size ?? 0
    const isWhole = method !== 'HEAD' && status === 200 && parent === null
    if (!isWhole || size < leastSize || !isCompressible(contentType) || !isMissed(collectors)) return []
    return [
      {
        severity: 'warning',
        problem: `${formatBytes(size)} of {type} were sent uncompressed, although the client accepts compression.`,
        values: { type: contentType ?? '' },
        advice: 'Do not set content-length or digest headers, or compress the response in the application.',
        place: { panel: 'request', anchor: 'header-content-type' },
        evidence: { size },
      },
    ]
  },
}

/**
 * Whether a response should have been compressed. `no-transform` forbids it. `Vary: Accept-Encoding` means that
 * compression was tried and saved nothing.
 */
function isMissed({ request, response }: CollectorData): boolean {
  const has = (name: string, pattern: RegExp) => readHeader(response, name).some(value => pattern.test(value))
  if (has('content-encoding', /./) || has('cache-control', /\bno-transform\b/i)) return false
  return !has('vary', /\baccept-encoding\b/i) && readHeader(request, 'accept-encoding').some(accepts)
}

function accepts(header: string): boolean {
  return header.split(',').some(coding => /^\s*(?:gzip|br)\s*(?:$|;\s*q=(?!0(?:\.0*)?\s*$))/i.test(coding))
}

/** Finds cookies that scripts, other sites or the network can read or send. */
export const insecureCookieRule: FindingRule<Profile> = {
  name: 'insecure-cookie',
  title: 'Insecure cookie',
  find({ collectors, summary }) {
    // The client receives the cookies of the main response only.
    if (summary.parent !== null) return []
    const isSecure = summary.url.startsWith('https:')
    return readHeader(collectors.response, 'set-cookie')
      .map(parseCookie)
      .filter(cookie => !isRemoved(cookie, summary.time))
      .flatMap(cookie => judgeCookie(cookie, isSecure))
  },
}

interface Cookie {
  readonly name: string
  /** Attributes by lower-case name. */
  readonly attributes: ReadonlyMap<string, string>
}

function parseCookie(field: string): Cookie {
  const [pair = '', ...attributes] = field.split(';')
  return {
    name: split(pair)[0],
    attributes: new Map(attributes.map(split).map(([name, value]) => [name.toLowerCase(), value])),
  }
}

function split(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=')
  return [name.trim(), value.join('=').trim()]
}

/** Whether the response deletes the cookie. */
function isRemoved({ attributes }: Cookie, now: number): boolean {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined) return Number(maxAge) <= 0
  return Date.parse(attributes.get('expires') ?? '') <= now
}

/** Names of cookies for CSRF protection: scripts of the site read them and send them in a header. */
const forScripts = /[cx]srf/i

function judgeCookie({ attributes, name }: Cookie, isSecure: boolean): RuleFinding[] {
  const sameSite = attributes.get('samesite')?.toLowerCase()
  const hasSecure = attributes.has('secure')
  const isCredential = isSecretName(name)
  const isRefused = sameSite === 'none' && !hasSecure
  const flaws = [
    isRefused && 'SameSite=None without Secure, which browsers reject',
    isCredential && !attributes.has('httponly') && !forScripts.test(name) && 'no HttpOnly, so any script can read it',
    isCredential && sameSite === undefined && 'no SameSite, so requests from other sites may carry it',
    isSecure && !hasSecure && !isRefused && 'no Secure, so it is also sent without encryption',
  ].filter(flaw => flaw !== false)
  if (flaws.length === 0) return []
  return [
    {
      severity: isRefused ? 'error' : 'warning',
      problem: `The cookie {cookie} has ${flaws.join('; ')}.`,
      values: { cookie: name },
      advice: 'Set it with HttpOnly, SameSite=Lax and, over HTTPS, Secure.',
      place: { panel: 'request', anchor: 'cookies' },
      evidence: { flaws: flaws.length },
    },
  ]
}
