import { statusText } from '../../../lib/http/status.ts'
import type { ViewModel } from '../../../lib/view/view.ts'
import type { Outcome, ProfileSummary } from '../profile.ts'
import { formatDuration } from './format-duration.ts'
import { type Row, toRows } from './format-value.ts'
import type { ProfilePanel } from './panel.ts'
import { readSetCookie } from './read-set-cookie.ts'
import { asBytes, asList, asMoment, asRecord, asText, toPairRows } from './soft-data.ts'
import { viewBody } from './view-body.ts'

/** The panel of what was asked and answered, with cookies, session and server parameters. */
export const requestPanel: ProfilePanel = {
  name: 'request',
  label: 'Request / Response',
  template: 'profiler/panels/request',
  hasContent: () => true,
  toView({ children, facts, profile }) {
    const data = asRecord(profile.data)
    const request = asRecord(data.request)
    const response = asRecord(data.response)
    const responseHeaders = toPairRows(response.headers)
    return {
      outcome: outcomes.get(profile.summary.outcome) ?? '',
      request: viewRequest(request, profile.summary),
      response: viewResponse(response, responseHeaders, profile.summary),
      session: viewSession(asRecord(data.session)),
      server: viewServer(asRecord(facts.server)),
      isSubRequest: asText(profile.summary.parent) !== '',
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
    method: asText(method),
    controller: asText(controller) || 'n/a',
    route: asText(route) || 'n/a',
    httpVersion: asText(request.httpVersion) || 'n/a',
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
    contentType: asText(contentType) || 'n/a',
    size: viewSize(response, summary),
    headers,
    cookies: headers.filter(({ name }) => isNamed(name, 'set-cookie')).map(({ value }) => readSetCookie(value)),
  }
}

function viewSize({ isStreamed, size }: Data, { method }: ProfileSummary): string {
  const bytes = asBytes(size) || (isStreamed === true ? 'not known' : 'n/a')
  const remarks = [
    isStreamed === true ? 'streamed' : '',
    method === 'HEAD' ? 'not sent: this is an answer to HEAD' : '',
  ]
  const said = remarks.filter(remark => remark !== '')
  return said.length === 0 ? bytes : `${bytes} (${said.join('; ')})`
}

function viewSession(session: Data): ViewModel {
  const { createdAt, lastUsedAt, lifetime } = asRecord(session.metadata)
  const metadata: Row[] = [
    { name: 'Created', value: asMoment(createdAt) },
    { name: 'Last used', value: asMoment(lastUsedAt) },
    { name: 'Lifetime', value: typeof lifetime === 'number' ? `${lifetime} seconds` : '' },
  ]
  return {
    useCount: asText(session.useCount) || '0',
    isStateless: session.isStateless === true,
    metadata: metadata.filter(({ value }) => value !== ''),
    attributes: toRows(session.attributes),
    flashes: toRows(session.flashes),
    uses: asList(session.uses).map(asRecord).map(viewUse),
  }
}

function viewUse({ at, method, trace }: Data): ViewModel {
  const [site = '', ...callers] = asList(trace).map(asText)
  return {
    method: asText(method),
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
  return { token: asText(child?.token), controller: asText(child?.controller) || 'n/a' }
}

function isNamed(header: string, name: string): boolean {
  return header.toLowerCase() === name
}
