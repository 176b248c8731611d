import type { Request } from '../../../../lib/http/request.ts'
import type { View } from '../../../../lib/view/view.ts'
import { toBlock, toSpan } from '../../export/markdown-text.ts'
import { toRows, toValueRow } from '../../profile/format-value.ts'
import { home, profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Assets } from '../assets.ts'
import type { ExceptionView, FrameView } from '../panels/exception.ts'
import { viewRequest } from '../panels/request.ts'
import { findOrigins } from '../panels/value-origins.ts'
import {
  createPreview,
  createReport,
  type DebugReport,
  type PreviewServices,
  type ReportServices,
  type RoutingReport,
} from './report.ts'

/** What error pages need. */
interface ErrorPageServices extends PreviewServices, ReportServices {
  readonly view: View
  readonly assets: Assets
}

/** Characters; a longer message is not shown as a headline. */
const longMessage = 200

/** The error page for developers: a rendering of the profile so far. */
export class ErrorPage {
  readonly #services: ErrorPageServices

  constructor(services: ErrorPageServices) {
    this.#services = services
  }

  /** Renders the page; `request` is the sub-request that the error listener made for it. */
  async toHtml(request: Request, status: number): Promise<string> {
    const { assets, view } = this.#services
    const preview = createPreview(request, this.#services)
    const report = createReport(preview, status, this.#services)
    const model = {
      request: viewRequest(preview.profile, findOrigins(preview.profile)),
      parameters: viewParameters(preview.profile),
      title: `${report.message} (${status} ${report.statusText})`,
      isLong: report.message.length > longMessage,
      allow: report.routing?.allow ?? '',
      tone: status < 500 ? 'warning' : 'error',
      markdown: writeMarkdown(report),
      profileLink: preview.token === '' ? '' : profileLink(preview.token),
      token: preview.token,
      steps: viewSteps(report),
      home,
      stylesheet: assets.link('profiler.css'),
      script: assets.link('profiler.js'),
      icon: assets.link('icon.svg'),
      ...report,
    }
    return view.render('profiler/error-page', model, request)
  }

  /** Renders the same as Markdown. */
  toMarkdown(request: Request, status: number): string {
    return writeMarkdown(createReport(createPreview(request, this.#services), status, this.#services))
  }
}

function viewParameters({ collectors: { router } }: Profile) {
  return router !== undefined && 'parameters' in router ? toRows(router.parameters).map(toValueRow) : []
}

function viewSteps({ way }: DebugReport) {
  return way.map((step, index) => ({ hasThrown: index === way.length - 1, ...step }))
}

/** Writes a report as Markdown, for terminals, issues and chats. */
function writeMarkdown(report: DebugReport): string {
  const { address, exceptions, logs, method, routing, status, statusText, traceId, way } = report
  const parts = [
    `# ${status} ${statusText}`,
    toSpan(`${method} ${address}`),
    traceId === undefined ? '' : `Trace ${traceId}`,
    ...exceptions.flatMap(describeException),
    ...(routing === undefined ? [] : describeRouting(routing)),
    '## Path to the error',
    way.map(({ kind, name }) => `- ${kind}: ${name}`).join('\n'),
    ...(logs.length > 0
      ? ['## Logs', logs.map(log => `- ${log.offset} ${log.level} [${log.channel}] ${toSpan(log.message)}`).join('\n')]
      : []),
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

function describeRouting({ allow, rows }: RoutingReport): string[] {
  const routes = rows.map(({ name, path, text }) => `- ${toSpan(path)} (${name}): ${text}`).join('\n')
  return ['## Nearest routes', allow === '' ? '' : `Allowed methods: ${allow}`, routes]
}
