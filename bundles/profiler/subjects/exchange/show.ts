import { isBodiless, statusText } from '../../../../lib/http/response.ts'
import { toList, toSpan, writeContentBlocks, writePairs } from '../../export/markdown-text.ts'
import { createCurl } from '../../export/snippets.ts'
import { writeReason } from '../../insight/overview/answer.ts'
import { outcomes } from '../../insight/summary-view.ts'
import { viewAnswer } from '../../panels/answer-place.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { viewBody, viewContent } from '../../panels/parts.ts'
import { entryLimit, type PanelModel, type PanelProfile, type SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, row, type ToolbarItem, type ToolbarProfile } from '../../panels/toolbar-items.ts'
import {
  type ChangeOrigins,
  createAttributeRows,
  createHeaderRows,
  findOrigins,
  findRemovedHeaders,
  type OriginRow,
  rowId,
} from '../../panels/value-origins.ts'
import type { BodyData } from '../../profile/content.ts'
import { isOfKernel, nameHandler } from '../../profile/event-tree.ts'
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatPeriod,
  formatSize,
  formatText,
  formatTime,
  type Row,
  shorten,
  toPairRows,
  toRows,
  toTarget,
  toValueRow,
} from '../../profile/format.ts'
import { contentLink, profileLink } from '../../profile/links.ts'
import type { Outcome, Profile, ProfileSummary } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { ProfiledSession, RedirectData, ResponseData, SessionUseData } from './data.ts'
import { nameOperation } from './operation.ts'
import { readForwarded, readOperation } from './read.ts'

/** The request and its response, with cookies, the session, and the redirects to this request. */
export const exchangeView: SubjectView = {
  name: 'request',
  label: 'Request / Response',
  template: 'profiler/panels/request',
  stored: ['request', 'response', 'session', 'redirects', 'server'],
  hasContent: () => true,
  toView: (shown, { editor }) => toView(shown, editor),

  toMarkdown({ profile }, limit) {
    const { redirects = [], request, response, session } = profile.collectors
    return [
      '## Request',
      ...writePairs('Query', request?.query, limit),
      ...writePairs('Headers', request?.headers, limit),
      ...writeBody(request?.body, limit),
      ...writePairs('Attributes', request?.attributes, limit),
      ...writeRedirects(redirects, limit),
      '## Response',
      ...writePairs('Errors of the operation', viewOperation(profile)?.pairs, limit),
      `Body: ${describeSize(response, profile.summary)}`,
      ...writePairs('Headers', response?.headers, limit),
      ...writePairs('Trailers', response?.trailers, limit),
      ...writeContentBlocks('Content', response?.content, limit),
      ...writeSession(session, limit),
    ]
  },

  toItems: shown => [toResponseItem(shown), ...toRedirectItem(shown)],

  toEntries({ collectors: { request, response } }) {
    const entries = (group: string, pairs: Pairs | undefined, anchorOf: (name: string) => string) =>
      toPairRows(pairs)
        .slice(0, entryLimit)
        .map(({ name, value }) => ({ group, label: name, hint: value, anchor: anchorOf(name) }))
    return [
      ...entries('Response header', response?.headers, name => rowId('header', name)),
      ...entries('Request header', request?.headers, () => 'request'),
      ...entries('Attribute', request?.attributes, name => rowId('attribute', name)),
    ]
  },

  onErrorPage: {
    toView({ profile }) {
      const { request } = profile.collectors
      const body = viewBody(request?.body)
      const headers = toPairRows(request?.headers).map(toValueRow)
      return {
        traceId: request?.traceId ?? '',
        user: toPairRows(findUser(profile)).map(toValueRow),
        query: toPairRows(request?.query).map(toValueRow),
        form: body.form.map(toValueRow),
        files: body.files,
        content: body.content.tree,
        note: request?.body === undefined ? '' : body.content.message,
        headers: headers.filter(isRelevant),
        otherHeaders: headers.filter(header => !isRelevant(header)),
      }
    },

    toMarkdown(profile, limit) {
      const { request } = profile.collectors
      const parts = [
        ...(request?.traceId === undefined ? [] : [`Trace ${request.traceId}`]),
        ...writePairs('User', findUser(profile), limit),
        ...writePairs('Query', request?.query, limit),
        ...writeBody(request?.body, limit),
        ...writePairs(
          'Headers',
          request?.headers.filter(([name]) => isRelevant({ name })),
          limit,
        ),
      ]
      return parts.length === 0 ? [] : ['## Request', ...parts]
    },
  },
}

const endings: ReadonlyMap<Outcome, string> = new Map([
  [
    'aborted',
    'The client closed the connection before the response was complete: headers and size are those of the complete response.',
  ],
  [
    'stream-failed',
    'The server broke the response off before it was complete: headers and size are those of the complete response.',
  ],
  [
    'crashed',
    'The process exited before this request, or work that it had begun, was over: the data below is from before the exit.',
  ],
  ['unfinished', 'Recorded before the request was complete: the data below is from that time.'],
])

function toView({ children, parent, profile }: PanelProfile, editor: EditorLinks): PanelModel {
  const { collectors, summary } = profile
  const responseHeaders = toPairRows(collectors.response?.headers)
  const isSubRequest = summary.parent !== null
  const origins = findOrigins(profile, editor)
  const relativesLabel = isSubRequest
    ? `Parent ${children.length > 0 ? 'and Sub Requests' : 'Request'}`
    : 'Sub Requests'
  const isSentByKernel = isOfKernel(profile) && !isSubRequest
  const headers = createHeaderRows(responseHeaders, origins, isSentByKernel && !collectors.response?.isStreamed)
  const views = {
    request: viewRequest(profile, origins),
    response: viewResponse(collectors.response, responseHeaders, summary),
    content:
      collectors.response?.content &&
      viewContent(collectors.response.content, 'response-content', contentLink(summary.token)),
    session: viewSession(collectors.session, summary, editor),
    relatives: [
      ...(parent === undefined ? [] : [viewRelative(parent, 'Parent Request', editor)]),
      ...children.map(child => viewRelative(child, 'Sub Request', editor)),
    ],
  }
  return {
    outcome: endings.get(summary.outcome) ?? '',
    handlerLabel: nameHandler(profile),
    ...createContents(views, headers, relativesLabel, profile),
    isAnswerFirst: isAnswerFirst(profile),
    relativesLabel,
    controller: summary.controller !== null && editor.viewController(summary.controller),
    route: summary.route !== null && editor.viewRoute(summary.route),
    curl: createCurl(profile),
    configLink: profileLink(summary.token, 'config'),
    isSentByKernel,
    headers,
    shownHeaders: divideOrigins(headers),
    shownAttributes: divideOrigins(views.request.attributes),
    removedHeaders: findRemovedHeaders(origins),
    forwardedTo: viewForwarded(responseHeaders, children, editor),
    requestId: collectors.request?.id ?? '',
    operation: viewOperation(profile) ?? false,
    trace: viewTrace(profile),
    ...views,
  }
}

/** The response of a refused or failed request says why. */
function isAnswerFirst({ summary }: Profile): boolean {
  return summary.status >= 400
}

/** The rows of the application, and those of this package, which are folded. */
function divideOrigins(rows: readonly OriginRow[]) {
  const hasOrigins = rows.some(({ isOurs, origin }) => origin !== false && (!isOurs || origin.link !== ''))
  const others = rows.filter(({ isOurs }) => isOurs)
  if (others.length < leastFolded) return { hasOrigins, rows, others: [] }
  const maker = others.every(({ origin }) => origin !== false && origin.who === 'the profiler')
    ? 'profiler'
    : 'framework'
  return { hasOrigins, rows: rows.filter(({ isOurs }) => !isOurs), others, maker }
}

/** Fewer rows are as short as the row that folds them. */
const leastFolded = 2

/** The operation, and its errors with their places. */
function viewOperation(profile: Profile) {
  const operation = readOperation(profile)
  if (operation === undefined) return undefined
  const pairs = operation.errors.map(({ message, path }) => [path === '' ? '–' : path, message] as const)
  return {
    protocol: operation.protocol,
    name: nameOperation(operation),
    isUnread: !operation.areErrorsKnown,
    pairs,
    errors: toPairRows(pairs).map(toValueRow),
  }
}

/** The trace by which a back end finds the request; `false` without one. */
function viewTrace({ collectors: { request } }: Profile): object | false {
  return request?.traceId !== undefined && { id: request.traceId, hasCaller: request.parentSpanId !== undefined }
}

function viewRequest({ collectors, summary }: Profile, origins: ChangeOrigins) {
  const { request } = collectors
  const headers = toPairRows(request?.headers)
  const body = viewBody(request?.body)
  const cookies = headers.filter(({ name }) => isNamed(name, 'cookie')).flatMap(({ value }) => viewCookies(value))
  const query = toPairRows(request?.query)
  return {
    method: summary.method,
    url: summary.url,
    httpVersion: request?.httpVersion ?? '',
    query: query.map(toValueRow),
    attributes: createAttributeRows(request?.attributes ?? [], origins, summary.parent !== null),
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

function viewResponse(response: ResponseData | undefined, headers: readonly Row[], summary: ProfileSummary) {
  const { contentType, status } = summary
  return {
    status: status > 0 ? `${status} ${statusText(status)}` : 'none',
    contentType: contentType || 'n/a',
    size: describeSize(response, summary),
    cookies: headers.filter(({ name }) => isNamed(name, 'set-cookie')).map(({ value }) => readSetCookie(value)),
    trailers: toPairRows(response?.trailers).map(toValueRow),
  }
}

/** The size of the body of a response, and how it was sent. */
function describeSize(response: ResponseData | undefined, { method, outcome, status }: ProfileSummary): string {
  const isStreamed = response?.isStreamed ?? false
  const bytes = formatSize(response?.size) || (isStreamed ? 'not known' : 'n/a')
  const sent = formatSize(response?.sent)
  const { content, size = null } = response ?? {}
  const plain = content?.length ?? size ?? 0
  // An application may announce more than it sends.
  const hasToolbar = content?.type === 'text/html' && plain < Math.min(size ?? 0, response?.sent ?? Infinity)
  const remarks = [
    ...(hasToolbar ? [`${formatSize(plain)} without the toolbar`] : []),
    ...(isStreamed ? ['streamed'] : []),
    ...(sent !== '' ? [`${sent} sent`] : outcome === 'aborted' && size !== null ? ['not sent as a whole'] : []),
    ...(response?.events === undefined ? [] : [formatCount(response.events, 'event')]),
    ...(method === 'HEAD' ? ['not sent: response to HEAD'] : []),
    ...(isBodiless(status) && (size ?? 0) > 0 ? [`not sent: ${status} has no body`] : []),
  ]
  return remarks.length === 0 ? bytes : `${bytes} (${remarks.join('; ')})`
}

function viewSession(session: ProfiledSession | undefined, { route }: ProfileSummary, editor: EditorLinks) {
  return {
    useCount: String(session?.useCount ?? 0),
    isStateless: session?.isStateless ?? false,
    hasRoute: Boolean(route),
    metadata: listMetadata(session).map(row => ({ ...row, ...toValueRow(row) })),
    attributes: toRows(session?.attributes).map(toValueRow),
    flashes: toRows(session?.flashes).map(toValueRow),
    uses: (session?.uses ?? []).map(use => viewUse(use, editor)),
  }
}

/** The times of a session, and where it is stored, as far as they are known. */
function listMetadata({ isStored, metadata, store = '' }: Partial<ProfiledSession> = {}) {
  // It would have had these times.
  if (isStored === false) return [{ name: 'Stored', value: 'no' }]
  const times = [
    { name: 'Created', moment: metadata?.createdAt },
    { name: 'Last used', moment: metadata?.lastUsedAt },
    { name: 'Expires', moment: metadata?.expiresAt },
  ].flatMap(({ moment = Number.NaN, name }) => {
    const value = formatMoment(moment)
    return value === '' ? [] : [{ name, value, time: formatTime(moment) }]
  })
  return [...times, ...(store === '' ? [] : [{ name: 'Store', value: store }])]
}

function viewUse({ at, isUnsaved, method, trace }: SessionUseData, editor: EditorLinks): PanelModel {
  const [site = '', ...callers] = trace
  const [, call = '', place = site.replace(/^at /, '')] = /^at (.+) \((.+:\d+:\d+)\)$/s.exec(site) ?? []
  const [, file, line, column] = /^(.+):(\d+):(\d+)$/s.exec(place) ?? []
  return {
    method: isUnsaved ? `${method} (lost)` : method,
    at: formatDuration(at),
    site: { ...editor.viewWhole(place, { file, line: Number(line), column: Number(column) }), call },
    callers: callers.join('\n'),
  }
}

function viewRelative(
  { controller, duration, method, status, token, url }: ProfileSummary,
  relation: string,
  editor: EditorLinks,
): PanelModel {
  return {
    relation,
    token,
    status: status === 0 ? '–' : String(status),
    method,
    target: controller === null ? editor.viewName(url) : editor.viewController(controller),
    duration: formatDuration(duration),
  }
}

/**
 * The sections in their order, with their numbers of entries, and the names of the parts without
 * data, which are one line.
 */
function createContents(
  { request, response, session, relatives }: Views,
  headers: readonly Row[],
  relativesLabel: string,
  profile: Profile,
) {
  const parts: readonly (readonly [section: string, name: string, count: number])[] = [
    ['request', 'GET Parameters', request.query.length],
    ['request', 'POST Parameters', request.form.length],
    ['request', 'Uploaded Files', request.files.length],
    ['request', 'Request Attributes', request.attributes.length],
    ['request', 'Request Headers', request.headers.length],
    ['request', 'Request Content', request.content.isEmpty ? 0 : 1],
    ['response', 'Response Headers', headers.length],
    ['cookies', 'Request Cookies', request.cookies.length],
    ['cookies', 'Response Cookies', response.cookies.length],
    ['session', 'Session Metadata', session.metadata.length],
    ['session', 'Session Attributes', session.attributes.length],
    ['session', 'Session Usage', session.uses.length],
    ['flashes', 'Flashes', session.flashes.length],
    ['relatives', relativesLabel, relatives.length],
  ]
  const countOf = (id: string) => parts.reduce((sum, [section, , count]) => sum + (section === id ? count : 0), 0)
  const section = (id: string, label: string, isListed = countOf(id) > 0, count = countOf(id)) =>
    isListed ? [{ id, label, count: count === 0 ? '' : String(count) }] : []
  // The session of another server is not known.
  const hasSession = isOfKernel(profile) || countOf('session') > 0
  return {
    contents: [
      ...(isAnswerFirst(profile) ? section('request', 'Request', true, 0) : section('response', 'Response', true, 0)),
      ...section('cookies', 'Cookies'),
      ...section('session', 'Session', hasSession, session.attributes.length),
      ...section('flashes', 'Flashes'),
      ...section('relatives', relativesLabel),
    ],
    has: {
      ...Object.fromEntries(['cookies', 'flashes', 'relatives'].map(id => [id, countOf(id) > 0])),
      session: hasSession,
    },
    empty: parts
      .filter(([section, , count]) => count === 0 && (section !== 'session' || hasSession))
      .map(([, name]) => name)
      .join(', '),
  }
}

interface Views {
  readonly request: ReturnType<typeof viewRequest>
  readonly response: ReturnType<typeof viewResponse>
  readonly session: ReturnType<typeof viewSession>
  readonly relatives: readonly PanelModel[]
}

/** The sub-request whose response became the response: the response names it, or it rendered the error. */
function viewForwarded(headers: readonly Row[], children: readonly ProfileSummary[], editor: EditorLinks): PanelModel {
  const named = headers.find(({ name }) => isNamed(name, 'x-previous-debug-token'))?.value
  const child =
    children.find(({ token }) => token === named) ??
    children.find(({ controller }) => controller === 'error_controller')
  return {
    token: child?.token ?? '',
    controller: child?.controller || 'n/a',
    place: child !== undefined && editor.viewFile(editor.findDefinition(child)),
  }
}

function isNamed(header: string, name: string): boolean {
  return header.toLowerCase() === name
}

/** Parses a (masked) Set-Cookie field as browsers do (RFC 6265, section 5.2): no field is invalid. */
function readSetCookie(field: string) {
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
  if (maxAge !== undefined) return Number(maxAge) > 0 ? `in ${formatPeriod(Number(maxAge))}` : 'at once'
  return attributes.get('expires') ?? "with the browser's session"
}

function split(text: string): [before: string, after: string] {
  const separator = text.indexOf('=')
  return separator === -1 ? [text, ''] : [text.slice(0, separator), text.slice(separator + 1)]
}

/** The headers on which an answer mostly depends. */
const relevantHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'authorization', 'content-length', 'content-type', 'cookie', 'host', 'origin', 'referer'],
  ...['user-agent', 'x-requested-with'],
])

function isRelevant({ name }: Pick<Row, 'name'>): boolean {
  return relevantHeaders.has(name.toLowerCase())
}

const userName = /user|account|customer|member|login/i

/** What the session and the attributes of the request say about the user. */
function findUser({ collectors: { request, session } }: Profile): Pairs {
  const pairs = [...Object.entries(session?.attributes ?? {}), ...(request?.attributes ?? [])]
  return pairs.filter(([name, value]) => userName.test(name) && formatText(value) !== '')
}

/** Writes the body of a request as far as it was recorded. */
function writeBody(body: BodyData | undefined, limit: number): string[] {
  const { files = [], state } = body ?? {}
  const list = toList(files, limit, ({ field, name, size, type }) =>
    [toSpan(field), toSpan(name), toSpan(type), formatSize(size)].join(', '),
  )
  return [...writeContentBlocks('Body', body, limit, state), ...(files.length === 0 ? [] : ['### Files', list])]
}

function writeRedirects(redirects: readonly RedirectData[], limit: number): string[] {
  if (redirects.length === 0) return []
  const list = toList(
    redirects,
    limit,
    ({ method, status, token, url }) => `${status} ${toSpan(method)} ${toSpan(url)}, profile ${toSpan(token)}`,
  )
  return ['### Redirects before this request', list]
}

function writeSession(session: ProfiledSession | undefined, limit: number): string[] {
  if (session === undefined) return []
  const { attributes = {}, flashes = {}, isStateless, useCount, uses } = session
  const facts = [
    `- Uses: ${useCount}`,
    `- Stateless: ${isStateless ? 'yes' : 'no'}`,
    ...listMetadata(session).map(({ name, value }) => `- ${name}: ${toSpan(value)}`),
  ]
  return [
    '## Session',
    facts.join('\n'),
    ...writePairs('Session attributes', Object.entries(attributes), limit),
    ...writePairs('Flashes', Object.entries(flashes), limit),
    ...(uses.length === 0 ? [] : ['### Session uses', toList(uses, limit, writeUse)]),
  ]
}

function writeUse({ at, isUnsaved, method, trace: [site = ''] }: SessionUseData): string {
  return `+${formatDuration(at)} ${toSpan(method)}${isUnsaved ? ' (lost)' : ''} ${toSpan(site)}`
}

function toResponseItem({ children, editor, overview, profile, summary }: ToolbarProfile): ToolbarItem {
  const { contentType, outcome } = profile.summary
  const forwarded = readForwarded(profile)
  const child = children.find(({ token }) => token === forwarded)
  const place = viewAnswer(profile, editor)
  // Another server names a route by its method and its path.
  const mark = summary.route.includes(' ') ? '' : '@'
  const reason = overview.reason?.panel === 'exception' ? '' : writeReason(overview.reason)
  return item(
    { name: 'request', label: 'Response' },
    {
      order: 10,
      pill: summary.status,
      text: reason || (summary.route === '' ? 'no route' : `${mark}${summary.route}`),
      tone: summary.tone,
      link: profileLink(summary.token, 'request'),
      rows: [
        row('Status', summary.statusText),
        ...(reason === '' ? [] : [row('Reason', reason, { tone: 'error' })]),
        row('Request', `${summary.method} ${cutText(summary.target)}`),
        row('Route', summary.route || 'n/a', { link: profileLink(summary.token, 'router') }),
        summary.controller === ''
          ? row('Controller', 'n/a')
          : row('Controller', '', { place: editor.viewController(summary.controller) }),
        ...(place === false ? [] : [row('Code', '', { place })]),
        ...(forwarded === ''
          ? []
          : [
              row('Forwarded to', [child?.controller ?? '', forwarded].filter(Boolean).join(' · '), {
                link: profileLink(forwarded),
              }),
            ]),
        ...(contentType === null ? [] : [row('Content type', cutText(contentType))]),
        ...(outcome === 'complete' ? [] : [row('Outcome', summary.outcome, { tone: outcomes[outcome].tone })]),
      ],
    },
  )
}

function toRedirectItem({ profile }: ToolbarProfile): ToolbarItem[] {
  const chain = profile.collectors.redirects ?? []
  const last = chain.at(-1)
  if (last === undefined) return []
  const toRow = ({ method, status, token, url }: RedirectData) =>
    row(`${status} ${method}`, `${cutText(toTarget(url))} · ${token}`, { link: profileLink(token), tone: 'warning' })
  return [
    item(
      { name: 'redirect', label: 'Redirected' },
      {
        order: 30,
        pill: String(last.status),
        text: `from ${shorten(toTarget(last.url), 40)}`,
        tone: 'warning',
        link: profileLink(last.token),
        rows: chain.map(toRow),
      },
    ),
  ]
}
