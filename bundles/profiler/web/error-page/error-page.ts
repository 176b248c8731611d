import { setTimeout as pause } from 'node:timers/promises'
import type { Request } from '../../../../lib/http/request.ts'
import type { HtmlFragment, View } from '../../../../lib/view/view.ts'
import { writeErrorPrompt } from '../../export/conclusions.ts'
import { toBlock, toSpan, writePairs } from '../../export/markdown-text.ts'
import { findOccurrences } from '../../insight/relatives.ts'
import { findReplayObstacle, planReplay } from '../../insight/replay/replay.ts'
import { formatText, shorten, toPairRows, toRows, toValueRow, type ValueRow } from '../../profile/format.ts'
import { home, profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { writeBody } from '../../subjects/exchange/show.ts'
import { readQueries, type StoredQuery, shapeOf } from '../../subjects/queries/read.ts'
import { codeOf, connectionOf, type ParameterView, toParameters } from '../../subjects/queries/show.ts'
import { StatementViews, writeQuery } from '../../subjects/queries/show-parts.ts'
import type { Assets } from '../assets.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import type { ExceptionView, FrameView } from '../exceptions.ts'
import { filesOf } from '../page.ts'
import {
  type BodyView,
  describeOccurrences,
  type OccurrencesView,
  viewBody,
  viewOccurrences,
  viewVerification,
} from '../panels/parts.ts'
import {
  createPreview,
  createReport,
  type DebugReport,
  type Preview,
  type PreviewServices,
  type ReportServices,
  type RoutingReport,
} from './report.ts'

/** What error pages need. */
interface ErrorPageServices extends PreviewServices, ReportServices {
  readonly view: View
  readonly assets: Assets
  readonly storage: Pick<ProfileStorage, 'search'>
}

/** Milliseconds that the page waits for the other occurrences of its error. */
const searchLimit = 200

/** Characters; a longer message is not shown as a headline. */
const longMessage = 200

/** The error page for developers: a rendering of the profile so far. */
export class ErrorPage {
  readonly #services: ErrorPageServices
  readonly #statements: StatementViews

  constructor(services: ErrorPageServices) {
    this.#services = services
    this.#statements = new StatementViews(services.view)
  }

  /** Renders the page; `request` is the sub-request that the error listener made for it. */
  async toHtml(request: Request, status: number): Promise<string> {
    const { assets, editor, view } = this.#services
    const { markdown, occurrences, preview, report } = await this.#prepare(request, status)
    const model = {
      request: createRequestReport(preview.profile),
      routePlace: editor.viewRoute(preview.profile.summary.route ?? ''),
      occurrences,
      failedQueries: await viewFailedQueries(preview, { editor, statements: this.#statements }),
      title: `${shorten(report.message, longMessage)} (${status} ${report.statusText})`,
      isLong: report.message.length > longMessage,
      allow: report.routing?.allow ?? '',
      tone: status < 500 ? 'warning' : 'error',
      markdown,
      prompt: writeErrorPrompt(preview.profile, preview.token),
      verification: preview.token !== '' && isSafe(preview.profile) && viewVerification(preview.profile, 'exception'),
      profileLink: preview.token === '' ? '' : profileLink(preview.token),
      token: preview.token,
      steps: viewSteps(report, editor),
      home,
      ...filesOf(assets),
      icon: assets.link('icon-error.svg'),
      ...report,
    }
    return view.render('profiler/error-page', model, request)
  }

  /** Renders the same as Markdown. */
  async toMarkdown(request: Request, status: number): Promise<string> {
    return (await this.#prepare(request, status)).markdown
  }

  /** The address of the profile; `undefined` if it will not be stored. */
  linkTo(request: Request): string | undefined {
    const { profiler } = this.#services
    const main = profiler.find(request)?.main
    return main !== undefined && profiler.keeps(main) ? `${request.origin}${profileLink(main.token)}` : undefined
  }

  async #prepare(request: Request, status: number) {
    const { storage } = this.#services
    const preview = createPreview(request, this.#services)
    const report = createReport(preview, status, this.#services)
    const occurrences = viewOccurrences(await within(searchLimit, findOccurrences(storage, preview.profile.summary)))
    return { preview, report, occurrences, markdown: writeMarkdown(report, preview, occurrences) }
  }
}

/** The result of some work; `undefined` if it takes longer. */
async function within<result>(milliseconds: number, work: Promise<result>): Promise<result | undefined> {
  const end = new AbortController()
  try {
    return await Promise.race([work, pause(milliseconds, undefined, { signal: end.signal })])
  } finally {
    end.abort()
  }
}

/** Whether the request can be sent again without a confirmation: then a fix can be verified on this page. */
function isSafe(profile: Profile): boolean {
  const plan = planReplay(profile)
  return plan.isPossible && findReplayObstacle(plan) === ''
}

function viewSteps({ way }: DebugReport, editor: EditorLinks) {
  const finders: Readonly<Record<string, (name: string) => string>> = {
    route: name => editor.findRoute(name),
    controller: name => editor.findController(name),
    template: name => editor.findTemplate(name),
  }
  return way.map((step, index) => ({
    hasThrown: index === way.length - 1,
    place: editor.viewFile(finders[step.kind]?.(step.name) ?? ''),
    ...step,
  }))
}

/** Writes a report as Markdown, for terminals, issues and chats. */
function writeMarkdown(report: DebugReport, { profile }: Preview, occurrences: OccurrencesView | false): string {
  const { address, exceptions, logs, method, routing, status, statusText, traceId, way } = report
  const parts = [
    `# ${status} ${statusText}`,
    toSpan(`${method} ${address}`),
    occurrences === false ? '' : describeOccurrences(occurrences),
    traceId === undefined ? '' : `Trace ${traceId}`,
    ...exceptions.flatMap(describeException),
    ...writeFailedQueries(profile),
    ...(routing === undefined ? [] : describeRouting(routing)),
    '## Path to the error',
    way.map(({ kind, name }) => `- ${kind}: ${name}`).join('\n'),
    ...(logs.length > 0
      ? ['## Logs', logs.map(log => `- ${log.offset} ${log.level} [${log.channel}] ${toSpan(log.message)}`).join('\n')]
      : []),
    ...writeRequest(profile),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function describeException({ groups, message, name, properties, relation, rest }: ExceptionView): string[] {
  const calls = groups.map(({ frames, label }) => (label === '' ? frames.map(describeFrame).join('\n') : `- ${label}`))
  const left = rest === '' ? [] : [`- ${rest}`]
  return [
    `## ${relation === '' ? '' : `${relation} `}${name}`,
    message === '' ? '' : toBlock(message),
    properties.map(({ name, value }) => `- ${toSpan(name)}: ${toSpan(value)}`).join('\n'),
    [...calls, ...left].join('\n'),
  ]
}

function describeFrame({ call, isOpen, lines, place }: FrameView): string {
  const line = `- ${toSpan(call)} at ${toSpan(place)}`
  if (!isOpen) return line
  const code = lines.map(({ isMarked, number, tokens }) => {
    const text = tokens.map(({ text }) => text).join('')
    return `${isMarked ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  return [line, '', toBlock(code.join('\n'), 'ts'), ''].join('\n')
}

function describeRouting({ allow, emptyText, rows }: RoutingReport): string[] {
  const routes = rows.map(({ name, path, text }) => `- ${toSpan(path)} (${name}): ${text}`).join('\n')
  return ['## Nearest routes', allow === '' ? '' : `Allowed methods: ${allow}`, routes || emptyText]
}

/** The parts of a request that help to understand its error. All of it is masked. */
interface RequestReport {
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

/** The failed queries of a request. All of it is masked. */
interface FailedQueries {
  /** The latest last. */
  readonly queries: readonly FailedQuery[]
  /** The number of failed queries before those. */
  readonly earlier: number
}

/** A query that failed. */
interface FailedQuery extends PlaceView {
  readonly number: number
  readonly connection: string
  /** The whole statement, laid out and with colours. */
  readonly statement: HtmlFragment | undefined
  readonly error: string
  /** Empty if the error begins with it. */
  readonly code: string
  readonly parameters: readonly ParameterView[]
  /** Its row in its panel; empty if the profile is not stored. */
  readonly panelLink: string
}

const shownLimit = 3

/** Shows the failed queries of the profile so far; `false` if no query failed. */
async function viewFailedQueries(
  { profile, token }: Pick<Preview, 'profile' | 'token'>,
  { editor, statements }: { readonly editor: EditorLinks; readonly statements: StatementViews },
): Promise<FailedQueries | false> {
  const failed = findFailed(profile)
  if (failed.length === 0) return false
  const toView = async (query: StoredQuery): Promise<FailedQuery> => {
    const { caller, error, index, kind } = query
    const views = await statements.create(kind, [query])
    return {
      ...editor.view(caller),
      number: index + 1,
      connection: connectionOf(query),
      statement: views.get(shapeOf(query))?.whole,
      error,
      code: codeOf(query),
      parameters: toParameters(query),
      panelLink: token === '' ? '' : `${profileLink(profile.summary.token, kind)}#query-${index}`,
    }
  }
  const shown = failed.slice(-shownLimit)
  return { queries: await Promise.all(shown.map(toView)), earlier: failed.length - shown.length }
}

/** Writes the failed queries of a profile as Markdown. */
function writeFailedQueries(profile: Profile): string[] {
  const failed = findFailed(profile).slice(-shownLimit)
  return failed.length === 0 ? [] : ['## Failed queries', failed.map(query => `- ${writeQuery(query)}`).join('\n')]
}

function findFailed(profile: Profile): StoredQuery[] {
  return readQueries(profile).queries.filter(({ error }) => error !== '')
}
