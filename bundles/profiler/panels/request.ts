import { statusText } from '../../../lib/http/status.ts'
import type { ViewModel } from '../../../lib/view/view.ts'
import type { Outcome, ProfileSummary } from '../profile.ts'
import { formatDuration } from './format-duration.ts'
import { formatMoment, formatSize, formatText, toPairRows } from './format-soft.ts'
import { type Row, toRows } from './format-value.ts'
import type { ProfilePanel } from './panel.ts'
import { readSetCookie } from './read-set-cookie.ts'
import { asList, asObject, asObjects } from './read-soft.ts'
import { viewBody } from './view-body.ts'

/** The panel of what was asked and answered, with cookies, session and server parameters. */
export const requestPanel: ProfilePanel = {
  name: 'request',
  label: 'Request / Response',
  template: 'profiler/panels/request',
  hasContent: () => true,
  toView({ children, facts, profile }) {
    const data = asObject(profile.data)
    const request = asObject(data.request)
    const response = asObject(data.response)
    const responseHeaders = toPairRows(response.headers)
    return {
      outcome: outcomes.get(profile.summary.outcome) ?? '',
      request: viewRequest(request, profile.summary),
      response: viewResponse(response, responseHeaders, profile.summary),
      session: viewSession(asObject(data.session)),
      server: viewServer(asObject(facts.server)),
      isSubRequest: formatText(profile.summary.parent) !== '',
      forwardedTo: viewForwarded(responseHeaders, children),
    }
  },
}

const outcomes: ReadonlyMap<Outcome, string> = new Map([
  ['aborted', 'The client has left before all of the response was sent: headers and size are those it would have got.'],
  ['crashed', 'The process ended while this request was handled: what follows is what was known by then.'],
  ['unfinished', 'The request was still handled when this was recorded: what follows is what was known by then.'],
])

type Data = Readonly<Record<string, unknown>>

function viewRequest(request: Data, { controller, method, route }: ProfileSummary): ViewModel {
  const headers = toPairRows(request.headers)
  return {
    method: formatText(method),
    controller: formatText(controller) || 'n/a',
    route: formatText(route) || 'n/a',
    httpVersion: formatText(request.httpVersion) || 'n/a',
    query: toPairRows(request.query),
    attributes: toPairRows(request.attributes),
    headers,
    cookies: headers.filter(({ name }) => isNamed(name, 'cookie')).flatMap(({ value }) => viewCookies(value)),
    ...viewBody(request.body),
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

function viewResponse(response: Data, headers: readonly Row[], summary: ProfileSummary): ViewModel {
  const { contentType, status } = summary
  return {
    status: status > 0 ? `${status} ${statusText(status)}` : 'none',
    contentType: formatText(contentType) || 'n/a',
    size: viewSize(response, summary),
    headers,
    cookies: headers.filter(({ name }) => isNamed(name, 'set-cookie')).map(({ value }) => readSetCookie(value)),
  }
}

function viewSize({ isStreamed, size }: Data, { method }: ProfileSummary): string {
  const bytes = formatSize(size) || (isStreamed === true ? 'not known' : 'n/a')
  const remarks = [
    isStreamed === true ? 'streamed' : '',
    method === 'HEAD' ? 'not sent: this is an answer to HEAD' : '',
  ]
  const said = remarks.filter(remark => remark !== '')
  return said.length === 0 ? bytes : `${bytes} (${said.join('; ')})`
}

function viewSession(session: Data): ViewModel {
  const { createdAt, lastUsedAt, lifetime } = asObject(session.metadata)
  const metadata: Row[] = [
    { name: 'Created', value: formatMoment(createdAt) },
    { name: 'Last used', value: formatMoment(lastUsedAt) },
    { name: 'Lifetime', value: typeof lifetime === 'number' ? `${lifetime} seconds` : '' },
  ]
  return {
    useCount: formatText(session.useCount) || '0',
    isStateless: session.isStateless === true,
    metadata: metadata.filter(({ value }) => value !== ''),
    attributes: toRows(session.attributes),
    flashes: toRows(session.flashes),
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
  const environment = toRows(server.environment)
  const dotenvNames = new Set(asList(server.dotenvNames))
  return {
    dotenv: environment.filter(({ name }) => dotenvNames.has(name)),
    regular: environment.filter(({ name }) => !dotenvNames.has(name)),
    process: toRows(server.process),
    versions: toRows(server.versions),
  }
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
