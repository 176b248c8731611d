import { setTimeout as pause } from 'node:timers/promises'
import type { Request } from '../../../../lib/http/request.ts'
import type { View } from '../../../../lib/view/view.ts'
import { toBlock, toSpan } from '../../export/markdown-text.ts'
import { writeErrorPrompt } from '../../export/prompt.ts'
import { findOccurrences } from '../../insight/occurrences.ts'
import { findReplayObstacle, planReplay } from '../../insight/replay/plan-replay.ts'
import { shorten } from '../../profile/format.ts'
import { home, profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { Assets } from '../assets.ts'
import type { EditorLinks } from '../editor-links.ts'
import { fitPage } from '../fit-page.ts'
import type { ExceptionView, FrameView } from '../panels/exception.ts'
import { describeOccurrences, type OccurrencesView, viewOccurrences } from '../panels/occurrences.ts'
import { StatementViews } from '../panels/queries/statements.ts'
import { viewVerification } from '../panels/verification.ts'
import { viewFailedQueries, writeFailedQueries } from './failed-queries.ts'
import {
  createPreview,
  createReport,
  type DebugReport,
  type Preview,
  type PreviewServices,
  type ReportServices,
} from './report.ts'
import { createRequestReport, writeRequest } from './request-report.ts'
import type { RoutingReport } from './routing-report.ts'

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
      stylesheet: assets.link('profiler.css'),
      script: assets.link('profiler.js'),
      icon: assets.link('icon-error.svg'),
      ...report,
    }
    return fitPage(await view.render('profiler/error-page', model, request), request, view, model.profileLink)
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
