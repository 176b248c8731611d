import { statusText } from '../../../../lib/http/response.ts'
import type { ViewModel } from '../../../../lib/view/view.ts'
import { createCurl } from '../../export/curl.ts'
import { outlineEvents } from '../../profile/event-outline.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatDuration } from '../../profile/format.ts'
import {
  formatMoment,
  formatSize,
  formatText,
  type Row,
  toPairRows,
  toRows,
  toValueRow,
  type ValueRow,
} from '../../profile/format-value.ts'
import type { Outcome, ProfileSummary } from '../../profile/profile.ts'
import { asList, asObject, asObjects } from '../../profile/read-soft.ts'
import { viewBody } from './body.ts'
import { createAttributeRows, createHeaderRows, findOrigins, findRemovedHeaders } from './origins.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

/** The panel of what was asked and answered, with cookies, session and server parameters. */
export const requestPanel: ProfilePanel = {
  name: 'request',
  label: 'Request / Response',
  template: 'profiler/panels/request',
  hasContent: () => true,
  toView: viewExchange,
}

const outcomes: ReadonlyMap<Outcome, string> = new Map([
  [
    'aborted',
    'The client closed the connection before the response was complete: headers and size are those of the complete response.',
  ],
  [
    'stream-failed',
    'The response stream failed before the response was complete: headers and size are those of the complete response.',
  ],
  ['crashed', 'The process exited during this request: the data below is from before the exit.'],
  ['unfinished', 'Recorded before the request was complete: the data below is from that time.'],
])

/** What an exchange is known by. */
export type Exchange = Pick<PanelSubject, 'children' | 'facts' | 'parent' | 'profile'>

/** What the panel shows, and the error page as well. */
export function viewExchange({ children, facts, parent, profile }: Exchange): ViewModel {
  const data = asObject(profile.data)
  const { summary } = profile
  const request = asObject(data.request)
  const response = asObject(data.response)
  const responseHeaders = toPairRows(response.headers)
  const isSubRequest = formatText(summary.parent) !== ''
  const origins = findOrigins(
    outlineEvents(readEventTree(profile), formatText(summary.controller)),
    formatText(summary.token),
  )
  const relativesLabel = isSubRequest
    ? `Parent ${children.length > 0 ? 'and Sub Requests' : 'Request'}`
    : 'Sub Requests'
  const views = {
    request: viewRequest(request, summary, createAttributeRows(request.attributes, origins, isSubRequest)),
    response: viewResponse(response, responseHeaders, summary),
    session: viewSession(asObject(data.session)),
    server: viewServer(asObject(facts.server)),
    relatives: [
      ...(parent === undefined ? [] : [viewRelative(parent, 'Parent Request')]),
      ...children.map(child => viewRelative(child, 'Sub Request')),
    ],
  }
  return {
    ...views,
    outcome: outcomes.get(summary.outcome) ?? '',
    cookieCount: views.request.cookies.length + views.response.cookies.length,
    contents: createContents(views, relativesLabel),
    relativesLabel,
    curl: createCurl(profile),
    isSubRequest,
    headers: createHeaderRows(responseHeaders, origins, !isSubRequest && response.isStreamed !== true),
    removedHeaders: findRemovedHeaders(origins),
    forwardedTo: viewForwarded(responseHeaders, children),
  }
}

type Data = Readonly<Record<string, unknown>>

function viewRequest(request: Data, { controller, method, route, url }: ProfileSummary, attributes: ValueRow[]) {
  const headers = toPairRows(request.headers)
  const body = viewBody(request.body)
  const cookies = headers.filter(({ name }) => isNamed(name, 'cookie')).flatMap(({ value }) => viewCookies(value))
  const query = toPairRows(request.query)
  return {
    method: formatText(method),
    url: formatText(url),
    controller: formatText(controller) || 'n/a',
    route: formatText(route) || 'n/a',
    httpVersion: formatText(request.httpVersion) || 'n/a',
    hasInput: query.length + body.form.length + body.files.length > 0,
    query: query.map(toValueRow),
    attributes,
    headers: headers.map(toValueRow),
    cookies: cookies.map(toValueRow),
    files: body.files,
    form: body.form.map(toValueRow),
    content: body.content,
  }
}

function viewCookies(field: string): Row[] {
  const pairs = field.split(';').map(pair => pair.trim())
  return pairs
    .filter(pair => pair !== '')
    .map(pair => {
      const [name = '', ...value] = pair.split('=')
      return { name, value: value.join('=') }
    })
}

function viewResponse(response: Data, headers: readonly Row[], summary: ProfileSummary) {
  const { contentType, status } = summary
  return {
    status: status > 0 ? `${status} ${statusText(status)}` : 'none',
    contentType: formatText(contentType) || 'n/a',
    size: viewSize(response, summary),
    cookies: headers.filter(({ name }) => isNamed(name, 'set-cookie')).map(({ value }) => readSetCookie(value)),
  }
}

function viewSize({ isStreamed, size }: Data, { method }: ProfileSummary): string {
  const bytes = formatSize(size) || (isStreamed === true ? 'not known' : 'n/a')
  const remarks = [isStreamed === true ? 'streamed' : '', method === 'HEAD' ? 'not sent: response to HEAD' : '']
  const said = remarks.filter(remark => remark !== '')
  return said.length === 0 ? bytes : `${bytes} (${said.join('; ')})`
}

function viewSession(session: Data) {
  const { createdAt, lastUsedAt, lifetime } = asObject(session.metadata)
  const metadata: Row[] = [
    { name: 'Created', value: formatMoment(createdAt) },
    { name: 'Last used', value: formatMoment(lastUsedAt) },
    { name: 'Lifetime', value: typeof lifetime === 'number' ? `${lifetime} seconds` : '' },
  ]
  return {
    useCount: formatText(session.useCount) || '0',
    isStateless: session.isStateless === true,
    isUsed: Object.keys(session).length > 0,
    metadata: metadata.filter(({ value }) => value !== '').map(toValueRow),
    attributes: toRows(session.attributes).map(toValueRow),
    flashes: toRows(session.flashes).map(toValueRow),
    uses: asObjects(session.uses).map(viewUse),
  }
}

function viewUse({ at, method, trace }: Data): ViewModel {
  const [site = '', ...callers] = asList(trace).map(formatText)
  return {
    method: formatText(method),
    at: typeof at === 'number' ? formatDuration(at) : '',
    site: site.replace(/^at /, ''),
    callers: callers.join('\n'),
  }
}

function viewServer(server: Data): ViewModel {
  const environment = toRows(server.environment).map(toValueRow)
  const dotenvNames = new Set(asList(server.dotenvNames))
  return {
    dotenv: environment.filter(({ name }) => dotenvNames.has(name)),
    regular: environment.filter(({ name }) => !dotenvNames.has(name)),
    process: toRows(server.process).map(toValueRow),
    versions: toRows(server.versions).map(toValueRow),
  }
}

function viewRelative(
  { controller, duration, method, status, token, url }: ProfileSummary,
  relation: string,
): ViewModel {
  return {
    relation,
    token: formatText(token),
    status: formatText(status),
    method: formatText(method),
    target: formatText(controller) || formatText(url),
    duration: typeof duration === 'number' ? formatDuration(duration) : '',
  }
}

/** The sections, with how much there is in those that are often empty. */
function createContents({ request, response, session, relatives }: Views, relativesLabel: string): ViewModel[] {
  const count = (id: string, label: string, of: number | undefined) => ({ id, label, count: of ? String(of) : '' })
  return [
    count('request', 'Request', undefined),
    count('response', 'Response', undefined),
    count('cookies', 'Cookies', request.cookies.length + response.cookies.length),
    count('session', 'Session', session.attributes.length),
    count('flashes', 'Flashes', session.flashes.length),
    count('server', 'Server Parameters', undefined),
    count('relatives', relativesLabel, relatives.length),
  ]
}

interface Views {
  readonly request: ReturnType<typeof viewRequest>
  readonly response: ReturnType<typeof viewResponse>
  readonly session: ReturnType<typeof viewSession>
  readonly relatives: readonly ViewModel[]
}

/** The sub-request whose response became this one's: the response names it, or it has shown the error. */
function viewForwarded(headers: readonly Row[], children: readonly ProfileSummary[]): ViewModel {
  const named = headers.find(({ name }) => isNamed(name, 'x-previous-debug-token'))?.value
  const child =
    children.find(({ token }) => token === named) ??
    children.find(({ controller }) => controller === 'error_controller')
  return { token: formatText(child?.token), controller: formatText(child?.controller) || 'n/a' }
}

function isNamed(header: string, name: string): boolean {
  return header.toLowerCase() === name
}

/** A cookie as a response has set it; what was not said is empty. */
export interface ResponseCookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly domain: string
  /** `in 60 seconds`, `Wed, 21 Oct 2015 07:28:00 GMT`, or `with the browser's session`. */
  readonly expires: string
  /** `Secure`, `HttpOnly` and whatever else has no column, as they were written. */
  readonly flags: string
}

/** Reads a (masked) Set-Cookie field as browsers do (RFC 6265, section 5.2); whatever it says, it is read somehow. */
export function readSetCookie(field: string): ResponseCookie {
  const [pair = '', ...attributes] = field.split(';').map(part => part.trim())
  const [name, value] = split(pair)
  const known = new Map(attributes.map(split).map(([key, text]) => [key.toLowerCase(), text]))
  const flags = attributes.filter(attribute => !columns.has(split(attribute)[0].toLowerCase()))
  return {
    name,
    value,
    path: known.get('path') ?? '',
    domain: known.get('domain') ?? '',
    expires: expiryOf(known),
    flags: flags.join(', '),
  }
}

const columns: ReadonlySet<string> = new Set(['path', 'domain', 'max-age', 'expires'])

/** Max-Age wins over Expires. */
function expiryOf(attributes: ReadonlyMap<string, string>): string {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined) return Number(maxAge) > 0 ? `in ${maxAge} seconds` : 'at once'
  return attributes.get('expires') ?? "with the browser's session"
}

function split(text: string): [before: string, after: string] {
  const separator = text.indexOf('=')
  return separator === -1 ? [text, ''] : [text.slice(0, separator), text.slice(separator + 1)]
}
