import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Headers } from '../../../../lib/http/headers.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { isBodiless, type Response, weakenEtag } from '../../../../lib/http/response.ts'
import { browserErrorsLink, home, openEditorLink, stateLink, toolbarLink } from '../../profile/links.ts'
import type { Assets } from '../assets.ts'

/** Takes the place of the token in the tag of a page that has no profile because recording is paused. */
export const pausedToken = 'paused'

interface PageToolbarServices {
  readonly assets: Pick<Assets, 'link'>
  /** Called if the policy of a page does not allow the toolbar. */
  readonly onObstacle: (obstacle: string) => void
}

/**
 * Adds the toolbar to pages: a script tag that names the profile and fetches everything else, and one in the head that
 * reports errors of the page. The policy of the page is extended if it forbids that.
 */
export class PageToolbar {
  readonly #services: PageToolbarServices

  constructor(services: PageToolbarServices) {
    this.#services = services
  }

  /** Adds the toolbar to a response, if it is a page. */
  addTo(response: Response, request: Request, token: string): void {
    const { assets, onObstacle } = this.#services
    const page = findPage(request, response)
    const end = page === undefined ? undefined : findBodyEnd(page)
    if (page === undefined || end === undefined) return
    const { headers } = response
    const { nonce, obstacle } = allowToolbar(headers, () => ({ ...sourcesOf(request), createNonce }))
    if (obstacle !== '') {
      onObstacle(obstacle)
      return
    }
    const allowed = nonce === undefined ? '' : ` nonce="${nonce}"`
    // Asynchronous and of low priority: the page does not wait for it. `async=""` is also valid XHTML.
    const toolbar = `type="module" async="" fetchpriority="low" src="${assets.link('toolbar.js')}"`
    const tag = `<script ${toolbar}${allowed} data-profiler-toolbar="${toolbarLink(token)}"></script>`
    // The scripts of the page run after it: it also reports their first errors. Without a profile, they are not stored.
    const errors = `src="${assets.link('browser-errors.js')}"${allowed} data-profiler-errors="${browserErrorsLink(token)}"`
    const inHead = token === pausedToken ? '' : `<script ${errors}></script>`
    response.body = insertTags(page, [Math.min(findHeadStart(page) ?? end, end), inHead], [end, tag])
    // The page has the same meaning with and without the toolbar.
    weakenEtag(headers)
  }
}

/** Whether a response is a page that has the toolbar already: the copy of another one. */
export function hasToolbar({ body }: Response, token: string): boolean {
  const tag = `data-profiler-toolbar="${toolbarLink(token)}"`
  return typeof body === 'string' ? body.includes(tag) : body instanceof Uint8Array && toBuffer(body).includes(tag)
}

function createNonce(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * The narrowest sources: a policy can contain names and 127.0.0.1, but no other addresses (CSP
 * Level 3, section 6.7.2.8).
 */
function sourcesOf({ hostname, origin }: Request): { readonly scripts: string[]; readonly fetches: string[] } {
  const canBeNamed = hostname === '127.0.0.1' || /[a-z][a-z0-9-]*$/.test(hostname)
  if (!canBeNamed) return { scripts: ["'self'"], fetches: ["'self'"] }
  const files = `${origin}${home}assets/`
  const paths = [toolbarLink(''), openEditorLink, stateLink]
  return { scripts: [files], fetches: [files, ...paths.map(path => `${origin}${path}`)] }
}

/** Clients that need unchanged pages, such as end-to-end tests, send `x-profiler-toolbar: off`. */
const optOutHeader = 'x-profiler-toolbar'

/** Pages within another page, which has its own toolbar. */
const innerDestinations: readonly string[] = ['iframe', 'frame', 'embed', 'object']

/** Headers that would be wrong for a changed body. */
const bodyHeaders: readonly string[] = ['content-encoding', 'content-range', 'content-digest', 'repr-digest']

/** Longer pages in bytes are not searched; searching text is cheap. */
const byteLimit = 1024 * 1024

/**
 * Finds the page that can contain a toolbar, by the rules of Symfony: HTML by content type and
 * format, not requested by a script, no redirect, no download. The body must not be streamed,
 * encoded or signed. HEAD is treated as GET, because both have the same length.
 */
export function findPage(request: Request, response: Response): PageBody | undefined {
  return wantsToolbar(request) ? pageOf(response) : undefined
}

function wantsToolbar({ attributes, headers }: Request): boolean {
  return (
    headers.get('x-requested-with') !== 'XMLHttpRequest' &&
    headers.get(optOutHeader)?.toLowerCase() !== 'off' &&
    !innerDestinations.includes(headers.get('sec-fetch-dest') ?? '') &&
    (attributes.get('_format') ?? 'html') === 'html'
  )
}

function pageOf({ body, headers, status }: Response): PageBody | undefined {
  if (body === null || body instanceof Readable || isBodiless(status) || (status >= 300 && status < 400))
    return undefined
  const contentType = headers.get('content-type') ?? 'text/html'
  if (!/html/i.test(contentType) || bodyHeaders.some(name => headers.has(name))) return undefined
  if (/^\s*attachment\b/i.test(headers.get('content-disposition') ?? '')) return undefined
  // Text is sent as UTF-8; bytes have the encoding of the content type.
  if (typeof body === 'string') return body
  const isOtherEncoding = /charset=(?!"?(?:utf-8|us-ascii)\b)/i.test(contentType)
  return body.byteLength > byteLimit || isOtherEncoding ? undefined : body
}

/** A page as text, or as bytes of an encoding that contains ASCII. */
type PageBody = string | Uint8Array

/** The position of the last `</body>` of a page; `undefined` when it has none. */
export function findBodyEnd(page: PageBody): number | undefined {
  // One character for each byte: the end tag is ASCII in each of these encodings.
  const text = typeof page === 'string' ? page : toBuffer(page).toString('latin1')
  const pattern = /<\/body\s*>/iy
  // From the end: it is usually the last tag but one.
  for (let at = text.lastIndexOf('</'); at !== -1; at = at === 0 ? -1 : text.lastIndexOf('</', at - 1)) {
    pattern.lastIndex = at
    if (pattern.test(text)) return at
  }
  return undefined
}

/** The characters in which the head is searched: it begins in the first lines of a page. */
const headLimit = 10_000

/** The position behind the first `<head>` of a page; `undefined` when it has none. */
export function findHeadStart(page: PageBody): number | undefined {
  const text = typeof page === 'string' ? page.slice(0, headLimit) : toBuffer(page).toString('latin1', 0, headLimit)
  const found = /<head(?:\s(?:[^>"']|"[^"]*"|'[^']*')*)?>/i.exec(text)
  return found === null ? undefined : found.index + found[0].length
}

/** A position in a page, and the tag to insert there, which is plain ASCII. */
type Insertion = readonly [at: number, tag: string]

/** Inserts two tags into a page, in one pass: a page is long. */
export function insertTags(page: PageBody, [first, one]: Insertion, [second, other]: Insertion): PageBody {
  if (typeof page === 'string')
    return page.slice(0, first) + one + page.slice(first, second) + other + page.slice(second)
  const bytes = toBuffer(page)
  return Buffer.concat([
    bytes.subarray(0, first),
    Buffer.from(one),
    bytes.subarray(first, second),
    Buffer.from(other),
    bytes.subarray(second),
  ])
}

function toBuffer({ buffer, byteLength, byteOffset }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** What the toolbar needs from the Content-Security-Policy of a page: to run one script, and to fetch its content. */
interface PolicyNeeds {
  /** The sources of its script files. */
  readonly scripts: readonly string[]
  /** The sources that it fetches from. */
  readonly fetches: readonly string[]
  readonly createNonce: () => string
}

/** The headers with policies; the enforced policy comes first. */
const headerNames: readonly string[] = ['content-security-policy', 'content-security-policy-report-only']

/**
 * Extends the policies of a response (CSP Level 3), also those that only report, by the sources
 * that the toolbar needs. It allows and forbids no script or address of the application. If a
 * policy has a nonce, the tag gets this nonce. Otherwise a nonce is added, unless that would
 * disable `'unsafe-inline'`: then the policy gets the address of the script. Stylesheets need no
 * source, because the script constructs them. The policy of a page in a sandbox stays as it is.
 */
export function allowToolbar(headers: Headers, describeNeeds: () => PolicyNeeds) {
  const isSent = headerNames.some(name => headers.has(name))
  if (!isSent) return { nonce: undefined, obstacle: '' }
  const sent = headerNames.map(name => headers.getAll(name).map(field => field.split(',').map(parsePolicy)))
  const policies = sent.flat(2)
  if (sent[0]?.flat().some(isSandbox)) return { nonce: undefined, obstacle: 'the policy of the page is a sandbox' }

  const needs = describeNeeds()
  const nonce = chooseNonce(policies, needs)
  for (const [index, fields] of sent.entries()) {
    const extended = fields.map(field => field.map(policy => allowFetches(allowScript(policy, needs, nonce), needs)))
    if (extended.flat().every((policy, at) => policy === fields.flat()[at])) continue
    const name = headerNames[index] ?? ''
    headers.delete(name)
    for (const field of extended) headers.append(name, field.map(format).join(','))
  }
  return { nonce, obstacle: '' }
}

interface Directive {
  readonly name: string
  readonly sources: readonly string[]
  /** The original text. */
  readonly text: string
}

type Policy = readonly Directive[]

function parsePolicy(text: string): Policy {
  return text.split(';').map(text => {
    const [name = '', ...sources] = text.trim().split(/[\t\n\f\r ]+/)
    return { name: name.toLowerCase(), sources, text }
  })
}

function format(policy: Policy): string {
  return policy.map(({ text }) => text).join(';')
}

/**
 * The directive that applies: the first of these names that exists; of two directives with the same name, the first.
 */
function findDirective(policy: Policy, names: readonly string[]): Directive | undefined {
  return names.map(name => policy.find(other => other.name === name)).find(found => found !== undefined)
}

const scriptNames: readonly string[] = ['script-src-elem', 'script-src', 'default-src']
const fetchNames: readonly string[] = ['connect-src', 'default-src']

/** A nonce that fits all policies that require one; a new one if there is none. */
function chooseNonce(policies: readonly Policy[], { createNonce }: PolicyNeeds): string | undefined {
  const isEnough = (nonce: string | undefined) => policies.every(policy => lackOf(policy, nonce) !== 'nonce')
  const found = policies.map(findNonce).filter(nonce => nonce !== undefined)
  return found.find(isEnough) ?? (isEnough(undefined) ? undefined : createNonce())
}

/** What a policy requires of a tag with this nonce, or without one: a nonce, or the address of its script. */
function lackOf(policy: Policy, nonce: string | undefined): 'nothing' | 'nonce' | 'address' {
  const { sources } = findDirective(policy, scriptNames) ?? {}
  if (sources === undefined || sources.some(source => nonceOf(source) === (nonce ?? ''))) return 'nothing'
  if (allowsOrigin(sources) && !has(sources, "'strict-dynamic'")) return 'nothing'
  return has(sources, "'unsafe-inline'") && !sources.some(switchesInlineOff) ? 'address' : 'nonce'
}

function allowScript(policy: Policy, { scripts }: PolicyNeeds, nonce: string | undefined): Policy {
  const lack = lackOf(policy, nonce)
  const directive = findDirective(policy, scriptNames)
  if (lack === 'nothing' || directive === undefined) return policy
  return extend(policy, directive, 'script-src', lack === 'nonce' ? [`'nonce-${nonce}'`] : scripts)
}

function allowFetches(policy: Policy, { fetches }: PolicyNeeds): Policy {
  const directive = findDirective(policy, fetchNames)
  if (directive === undefined || allowsOrigin(directive.sources)) return policy
  return extend(policy, directive, 'connect-src', fetches)
}

/** `default-src` also applies to other resources: it stays as it is, and a copy is extended. */
function extend(policy: Policy, directive: Directive, name: string, added: readonly string[]): Policy {
  // 'none' is ignored beside other sources, and browsers warn about it.
  const kept = directive.sources.filter(source => source.toLowerCase() !== "'none'")
  const isCopy = directive.name === 'default-src'
  const sources = [...kept, ...added]
  const extended = { name: isCopy ? name : directive.name, sources, text: '' }
  const text = ` ${extended.name} ${sources.join(' ')}`
  if (isCopy) return [...policy.filter(({ name }) => name !== ''), { ...extended, text }]
  return policy.map((other, at) =>
    other === directive ? { ...extended, text: at === 0 ? text.slice(1) : text } : other,
  )
}

function findNonce(policy: Policy): string | undefined {
  const directive = findDirective(policy, scriptNames)
  return directive?.sources.map(nonceOf).find(found => found !== undefined)
}

function nonceOf(source: string): string | undefined {
  return /^'nonce-([\w+/-]+={0,2})'$/i.exec(source)?.[1]
}

function allowsOrigin(sources: readonly string[]): boolean {
  return has(sources, "'self'") || sources.includes('*')
}

function switchesInlineOff(source: string): boolean {
  return /^'(?:nonce-|sha(?:256|384|512)-|strict-dynamic')/i.test(source)
}

function has(sources: readonly string[], keyword: string): boolean {
  return sources.some(source => source.toLowerCase() === keyword)
}

/** The toolbar needs scripts and the origin of the page: the profiler refuses other origins. */
function isSandbox(policy: Policy): boolean {
  const { sources } = policy.find(({ name }) => name === 'sandbox') ?? {}
  return sources !== undefined && !(has(sources, 'allow-scripts') && has(sources, 'allow-same-origin'))
}
