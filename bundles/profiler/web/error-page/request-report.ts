import { toSpan } from '../../export/markdown-text.ts'
import { writeBody, writePairs } from '../../export/request-sections.ts'
import { formatText, toPairRows, toRows, toValueRow, type ValueRow } from '../../profile/format-value.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import { type BodyView, viewBody } from '../panels/body.ts'

/** The parts of a request that help to understand its error. All of it is masked. */
export interface RequestReport {
  /** The name of the route; empty without one. */
  readonly route: string
  readonly parameters: readonly ValueRow[]
  /** The user, as far as the session and the attributes of the request name one. */
  readonly user: readonly ValueRow[]
  readonly query: readonly ValueRow[]
  readonly form: readonly ValueRow[]
  readonly files: ReturnType<typeof viewBody>['files']
  /** JSON; `false` without any. */
  readonly content: BodyView['content']['tree']
  /** Why the content of a body is not shown; empty when it is shown, or there is no body. */
  readonly note: string
  /** The headers on which an answer mostly depends. */
  readonly headers: readonly ValueRow[]
  readonly otherHeaders: readonly ValueRow[]
}

const relevantHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'authorization', 'content-length', 'content-type', 'cookie', 'host', 'origin', 'referer'],
  ...['user-agent', 'x-requested-with'],
])

const userName = /user|account|customer|member|login/i

/** Creates the report of the request of a profile. */
export function createRequestReport({ collectors, summary }: Profile): RequestReport {
  const { request, router } = collectors
  const body = viewBody(request?.body)
  const headers = toPairRows(request?.headers)
  const isRelevant = ({ name }: { readonly name: string }) => relevantHeaders.has(name.toLowerCase())
  return {
    route: summary.route ?? '',
    parameters: router !== undefined && 'parameters' in router ? toRows(router.parameters).map(toValueRow) : [],
    user: toPairRows(findUser(collectors)).map(toValueRow),
    query: toPairRows(request?.query).map(toValueRow),
    form: body.form.map(toValueRow),
    files: body.files,
    content: body.content.tree,
    note: request?.body === undefined ? '' : body.content.message,
    headers: headers.filter(isRelevant).map(toValueRow),
    otherHeaders: headers.filter(header => !isRelevant(header)).map(toValueRow),
  }
}

/** What the session and the attributes of the request say about the user. */
function findUser({ request, session }: Profile['collectors']): Pairs {
  const pairs = [...Object.entries(session?.attributes ?? {}), ...(request?.attributes ?? [])]
  return pairs.filter(([name, value]) => userName.test(name) && formatText(value) !== '')
}

const listLimit = 50

/** Writes the request of a profile as Markdown. */
export function writeRequest(profile: Profile): string[] {
  const { collectors, summary } = profile
  const { request, router } = collectors
  const parameters = router !== undefined && 'parameters' in router ? toRows(router.parameters) : []
  const headers = (request?.headers ?? []).filter(([name]) => relevantHeaders.has(name.toLowerCase()))
  const toPairs = (rows: readonly { readonly name: string; readonly value: string }[]): Pairs =>
    rows.map(({ name, value }) => [name, value])
  const parts = [
    ...(summary.route === null ? [] : [`Route: ${toSpan(summary.route)}`]),
    ...writePairs('Route parameters', toPairs(parameters), listLimit),
    ...writePairs('User', findUser(collectors), listLimit),
    ...writePairs('Query', request?.query, listLimit),
    ...writeBody(request?.body, listLimit),
    ...writePairs('Headers', headers, listLimit),
  ]
  return parts.length === 0 ? [] : ['## Request', ...parts]
}
