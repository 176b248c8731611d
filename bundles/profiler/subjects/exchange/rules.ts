import path from 'node:path'
import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { isRetrieval } from '../../../../lib/http/conditions.ts'
import { type Coding, isCompressible, preferredCoding } from '../../../../lib/http/negotiation.ts'
import { isBodiless } from '../../../../lib/http/response.ts'
import { packageName } from '../../../../lib/package.ts'
import { isFact } from '../../../../lib/redact/prose.ts'
import { isSecretName } from '../../../../lib/redact/secret-names.ts'
import { readingMethods } from '../../../../lib/session/session-methods.ts'
import { parseFrames } from '../../../../lib/stack/stack-frames.ts'
import { findCode } from '../../insight/findings/finding.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatBytes, formatCount, formatNumber, readHeader, toReadableUrl, toTarget } from '../../profile/format.ts'
import type { CollectorData, Profile } from '../../profile/profile.ts'
import type { SessionUseData } from './data.ts'

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

/** Limit of `uncompressed-response`: bytes. Fewer arrive in the first flight (RFC 6928, section 2). */
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

const codings: readonly Coding[] = ['br', 'gzip']

/**
 * Whether a response should have been compressed. `no-transform` forbids it. `Vary: Accept-Encoding` means that
 * compression was tried and saved nothing.
 */
function isMissed({ request, response }: CollectorData): boolean {
  const has = (name: string, pattern: RegExp) => readHeader(response, name).some(value => pattern.test(value))
  if (has('content-encoding', /./) || has('cache-control', /\bno-transform\b/i)) return false
  const accept = readHeader(request, 'accept-encoding').join(', ')
  return !has('vary', /\baccept-encoding\b/i) && preferredCoding({ get: () => accept }, codings) !== undefined
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
  /** Masked, unless it is a count. */
  readonly value: string
  /** Attributes by lower-case name. */
  readonly attributes: ReadonlyMap<string, string>
}

function parseCookie(field: string): Cookie {
  const [pair = '', ...attributes] = field.split(';')
  const [name, value] = split(pair)
  return {
    name,
    value,
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

function judgeCookie({ attributes, name, value }: Cookie, isSecure: boolean): RuleFinding[] {
  const sameSite = attributes.get('samesite')?.toLowerCase()
  const hasSecure = attributes.has('secure')
  const isCredential = isSecretName(name) && !isFact(name, value)
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

/** Limit of `redirect-chain`: redirects. One is usual: of a path without its slash, or of another host. */
const leastRedirects = 2

/** Limit of `redirect-chain`: redirects without a page. A login may redirect a few times until its page is shown. */
const leastEndless = 5

/** Finds pages that the client reached by several redirects. The redirect after a form is right. */
export const redirectChainRule: FindingRule<Profile> = {
  name: 'redirect-chain',
  title: 'Chain of redirects',
  // A replay follows no redirects.
  isRepeatable: false,
  find({ collectors, summary }) {
    const redirects = (collectors.redirects ?? []).filter(({ method }) => isRetrieval(method))
    const isRedirect = summary.status >= 300 && summary.status < 400
    const [first] = redirects
    if (first === undefined || redirects.length < (isRedirect ? leastEndless : leastRedirects)) return []
    const urls = [...redirects, summary].map(({ url }) => toReadableUrl(toTarget(url)))
    return [
      {
        severity: 'warning',
        problem: `The client sent ${formatCount(redirects.length + 1, 'request')} until it had ${isRedirect ? 'another redirect' : 'this page'}: {chain}.`,
        values: { chain: urls.join(' → ') },
        advice: 'Redirect to the last address at once, and link to it.',
        place: { panel: 'request', token: first.token },
        evidence: { count: redirects.length },
      },
    ]
  },
}

/**
 * Limit of `large-cookie`: bytes of name and value, above which it is an error. Chromium and
 * Firefox drop such a cookie.
 */
const cookieLimit = 4096

/** Finds cookies that browsers drop, or will soon drop when they grow. */
export const largeCookieRule: FindingRule<Profile> = {
  name: 'large-cookie',
  title: 'Large cookie',
  find(profile) {
    const { collectors, summary } = profile
    // The client receives the cookies of the main response only.
    const cookies = summary.parent === null ? (collectors.response?.largeCookies ?? []) : []
    const { setter, ...code } = cookies.length === 0 ? { setter: '' } : findSetter(profile)
    return cookies.map(([name, bytes]) => {
      const size = Number(bytes)
      const isDropped = size > cookieLimit
      return {
        severity: isDropped ? 'error' : 'warning',
        problem: `The cookie {cookie}, set in {setter}, has ${formatNumber(size)} bytes${isDropped ? ': browsers drop it' : ', and the browser sends it with each request'}.`,
        values: { cookie: name, setter },
        ...code,
        advice: `Store the data in the session, and only its id in a cookie: browsers drop a cookie of more than ${formatNumber(cookieLimit)} bytes.`,
        place: { panel: 'request', anchor: 'cookies' },
        evidence: { size },
      }
    })
  },
}

/** The listener that has set the cookies of the response, else the controller. */
function findSetter(profile: Profile): { readonly setter: string } & Pick<RuleFinding, 'code'> {
  const listener = readEventTree(profile).nodes.find(
    ({ details, kind }) =>
      kind === 'call' && details.some(change => /^(?:set|changed) header set-cookie$/.test(change)),
  )
  if (listener !== undefined) return { setter: listener.name, ...findCode(listener, profile) }
  return { setter: profile.summary.controller ?? 'the controller' }
}

/** Whether a use puts something into the session, or takes it out. To take no message changes nothing. */
function isChange({ method }: SessionUseData): boolean {
  return !readingMethods.has(method) && method !== 'flashes'
}

/** Finds sessions that were started for a client without one, and remained empty. */
export const needlessSessionRule: FindingRule<Profile> = {
  name: 'needless-session',
  title: 'Unneeded session',
  find({ collectors, summary }) {
    const { attributes = {}, flashes = {}, metadata, uses = [] } = collectors.session ?? {}
    // An existing session may have been read for its content.
    const isNew = metadata !== undefined && metadata.createdAt >= summary.time
    const isEmpty = [attributes, flashes].every(entries => Object.keys(entries).length === 0)
    const isRead = uses.length > 0 && !uses.some(isChange)
    if (!isNew || !isEmpty || !isRead) return []
    const [first = ''] = uses.flatMap(({ trace }) => trace)
    return [
      {
        // The page is right; only caches cannot store it.
        severity: 'info',
        problem: `The session was used (${formatCount(uses.length, 'time')}, first {place}), but the client has none and nothing was stored in it.`,
        values: { place: first || 'by an unknown caller' },
        advice: 'Use the session only where it is needed: no cache stores a response that depends on a session.',
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: uses.length },
      },
    ]
  },
}

/**
 * Finds safe requests that changed the session: browsers load pages in advance, and crawlers and users load them again.
 */
export const changedSessionRule: FindingRule<Profile> = {
  name: 'changed-session',
  title: 'Session changed by a GET',
  find({ collectors, summary }) {
    const { method, status } = summary
    if (!isRetrieval(method)) return []
    const changes = (collectors.session?.uses ?? []).filter(
      use => isChange(use) && use.isUnsaved !== true && use.method !== 'flash',
    )
    const end = changes.find(({ method }) => method === 'invalidate')
    // A login at another site ends with a GET that redirects.
    const isStep = status >= 300 && status < 400
    const change = end ?? (isStep ? undefined : changes[0])
    if (change === undefined) return []
    return [
      {
        // A list of the last pages may be intended, but not a logout by a page that is loaded in advance.
        severity: end === undefined ? 'info' : 'warning',
        problem: `A ${method} request changed the session ({call}).`,
        values: { call: `session.${change.method}()` },
        advice:
          end === undefined
            ? 'Change the session by a POST: a GET may be repeated, and may be sent before the user follows a link.'
            : 'Log out by a POST: a GET may be sent before the user follows a link, and by a page of another site.',
        ...findUse(change),
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: changes.length },
      },
    ]
  },
}

/** Finds changes of the session that the store does not have, although the request has not failed because of it. */
export const lostSessionChangeRule: FindingRule<Profile> = {
  name: 'lost-session-change',
  title: 'Session change lost',
  find({ collectors, summary }) {
    const lost = (collectors.session?.uses ?? []).filter(({ isUnsaved }) => isUnsaved === true)
    const [first] = lost
    // The error of a store, or of a session that is too large, says it itself.
    if (first === undefined || summary.exception?.startsWith('SESSION_')) return []
    return [
      {
        severity: 'error',
        problem: `The change by {call} is lost${lost.length > 1 ? `, and ${formatCount(lost.length - 1, 'later one')}` : ''}: the store of sessions does not have it.`,
        values: { call: `session.${first.method}()` },
        advice: 'Change the session before the response, or call session.save() after the change.',
        ...findUse(first),
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: lost.length },
      },
    ]
  },
}

/** The line of the application that used the session. */
function findUse({ trace }: SessionUseData): Pick<RuleFinding, 'code'> {
  const outside = [`${packageName}${path.sep}`, `node_modules${path.sep}`]
  const { file, line } =
    parseFrames(trace).find(({ file }) => !outside.some(folder => file?.startsWith(folder) ?? true)) ?? {}
  return file === undefined || line === undefined ? {} : { code: { file, line } }
}

/** A whole page: an example of HTML is seldom one. */
const wholePage = /^\uFEFF?\s*<(?:!doctype html|html)\b[\s\S]*<\/html>\s*$/i

/**
 * Finds responses whose bytes are not as many as their Content-Length says. Node.js sends them so,
 * and only the client notices.
 */
export const wrongLengthRule: FindingRule<Profile> = {
  name: 'wrong-length',
  title: 'Wrong Content-Length',
  find({ collectors: { response }, summary: { method, outcome, status } }) {
    const [header] = readHeader(response, 'content-length')
    const announced = Number(header)
    const { sent = announced } = response ?? {}
    // These responses have no bytes: the header is about the response to GET.
    const hasBody = method !== 'HEAD' && !isBodiless(status)
    if (!Number.isInteger(announced) || sent === announced || !hasBody || outcome !== 'complete') return []
    const missing = formatCount(Math.abs(announced - sent), 'byte')
    return [
      {
        severity: 'error',
        problem: `The response has ${formatCount(sent, 'byte')}, but its Content-Length is ${formatNumber(announced)}: ${sent < announced ? `the client waits for ${missing} more` : `the client does not read the last ${missing}`}.`,
        advice: 'Do not set Content-Length, or count the bytes of the body: a text has fewer characters than bytes.',
        place: { panel: 'request', anchor: 'header-content-length' },
        evidence: { count: announced - sent },
      },
    ]
  },
}

/** Finds pages that browsers show as text, because their content type is another one. */
export const plainPageRule: FindingRule<Profile> = {
  name: 'plain-page',
  title: 'Page sent as text',
  find({ collectors, summary }) {
    const { contentType, method, parent, status, url } = summary
    const isText = /^text\/plain\b/i.test(contentType ?? '') && method === 'GET' && status < 300 && parent === null
    // A file with a name, or one that the browser saves, is meant as text.
    const isFile =
      /\.\w+(?:\?|$)/.test(toTarget(url)) || readHeader(collectors.response, 'content-disposition').length > 0
    if (!isText || isFile || !wholePage.test(collectors.response?.content?.text ?? '')) return []
    return [
      {
        // A site may show examples.
        severity: 'info',
        problem: 'A page of HTML was sent as {type}: the browser shows its source.',
        values: { type: contentType ?? '' },
        advice: 'Send it as text/html.',
        place: { panel: 'request', anchor: 'header-content-type' },
        evidence: {},
      },
    ]
  },
}
