import type { Request } from '../../../lib/http/request.ts'
import type { View } from '../../../lib/view/view.ts'
import type { Assets } from '../assets.ts'
import { toRows } from '../format/format-value.ts'
import { toValueRow } from '../format/value-row.ts'
import { home, recordLink } from '../links.ts'
import { viewExchange } from '../panels/request.ts'
import { asObject } from '../reading/read-soft.ts'
import { createPreview, type Preview, type PreviewServices } from './create-preview.ts'
import { createReport, type ErrorReport, type ReportServices } from './create-report.ts'
import { toMarkdown } from './to-markdown.ts'

/** What error pages are made with. */
export interface ErrorPageServices extends PreviewServices, ReportServices {
  readonly view: View
  readonly assets: Assets
}

/** Characters; what is longer is no headline. */
const longMessage = 200

/** Shows to a developer what went wrong, where and why: a rendering of the profile so far. */
export class ErrorPage {
  readonly #services: ErrorPageServices

  constructor(services: ErrorPageServices) {
    this.#services = services
  }

  /** As a whole page; `request` is the one that was made for it, by the error listener. */
  async toHtml(request: Request, status: number): Promise<string> {
    const { assets, view } = this.#services
    const preview = createPreview(request, this.#services)
    const report = createReport(preview, status, this.#services)
    const model = {
      ...report,
      ...viewRequest(preview),
      title: `${report.message} (${status} ${report.statusText})`,
      isLong: report.message.length > longMessage,
      allow: report.routing?.allow ?? '',
      tone: status < 500 ? 'warning' : 'error',
      markdown: toMarkdown(report),
      profileLink: preview.token === '' ? '' : recordLink(preview.token),
      token: preview.token,
      steps: viewSteps(report),
      home,
      stylesheet: assets.link('profiler.css'),
      script: assets.link('profiler.js'),
      icon: assets.link('icon.svg'),
    }
    return view.render('profiler/error-page', model, request)
  }

  /** As text. */
  toMarkdown(request: Request, status: number): string {
    return toMarkdown(createReport(createPreview(request, this.#services), status, this.#services))
  }
}

function viewRequest({ profile }: Preview) {
  const { request } = viewExchange({ profile, facts: {}, parent: undefined, children: [] })
  return { request, parameters: toRows(asObject(profile.data.router).parameters).map(toValueRow) }
}

function viewSteps({ way }: ErrorReport) {
  return way.map((step, index) => ({ ...step, hasThrown: index === way.length - 1 }))
}
