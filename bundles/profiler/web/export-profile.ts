import { createHash } from 'node:crypto'
import { formatJson } from '../../../lib/console/document.ts'
import { Request } from '../../../lib/http/request.ts'
import { escapeLines } from '../../../lib/text/escapes.ts'
import { HtmlFragment } from '../../../lib/view/view.ts'
import { toCpuProfileFile } from '../export/cpu-profile.ts'
import { toHar } from '../export/har.ts'
import { toJson } from '../export/json.ts'
import { toMarkdown } from '../export/markdown.ts'
import { createCurl } from '../export/snippets.ts'
import { toBadge } from '../insight/findings/finding.ts'
import type { Relatives, ShownProfile } from '../insight/relatives.ts'
import { toSummaryView } from '../insight/summary-view.ts'
import { toHeadBadges } from '../panels/head-badges.ts'
import type { PanelServices } from '../panels/subject-view.ts'
import { nameHandler } from '../profile/event-tree.ts'
import { type DataForm, type ExportKind, profileLink } from '../profile/links.ts'
import type { Assets } from './assets.ts'
import type { ProfilerApplication } from './page.ts'
import { createPanelProfile, hasContent, renderPanel } from './pages/render-panel.ts'

type ExportedProfile = ShownProfile & Pick<Relatives, 'summaries'>

type ExportServices = PanelServices &
  Pick<ProfilerApplication, 'logger' | 'storage'> & {
    readonly assets: Pick<Assets, 'stylesheet'>
  }

/** Formats a profile as the text of a file; `undefined` for the CPU profile of a request that was not sampled. */
export function formatProfile(
  kind: ExportKind | DataForm,
  shown: ExportedProfile,
  services: ExportServices,
): string | undefined | Promise<string> {
  const { profile } = shown
  switch (kind) {
    case 'har':
      return formatJson(toHar(profile))
    case 'curl':
      return `#!/bin/sh\n${createCurl(profile)}\n`
    case 'cpuprofile': {
      const file = toCpuProfileFile(profile)
      return file && formatJson(file)
    }
    case 'html':
      return toHtmlFile(shown, services)
    case 'json':
      return formatJson(toJson(shown))
    case 'md':
      return toMarkdown(shown)
  }
}

/**
 * Creates one HTML file of a profile, with all its panels and the stylesheet. It can be stored or
 * sent. It has no scripts and loads nothing, which its content security policy ensures; its links
 * lead within it. Control characters are written as escapes.
 */
async function toHtmlFile(shown: ExportedProfile, services: ExportServices): Promise<string> {
  const { assets, storage, view } = services
  const { stylesheet } = assets
  const { profile } = shown
  const { token } = profile.summary
  const request = new Request({ method: 'GET', target: '/' })
  // All messages of the log: a file has no link to the others.
  const panelProfile = createPanelProfile(shown, new URLSearchParams({ level: 'debug' }), storage)
  const panels = await services.panels()
  const sections: object[] = []
  for (const panel of panels.filter(panel => hasContent(panel, shown))) {
    const { content, problem, unseen } = await renderPanel(panel, panelProfile, request, services)
    sections.push({ name: panel.name, label: panel.label, content, problem, unseen })
  }
  const summary = toSummaryView(profile.summary)
  const html = await view.render('profiler/file', {
    title: summary.title,
    policy: `default-src 'none'; style-src '${hashOf(stylesheet)}'; base-uri 'none'; form-action 'none'`,
    stylesheet: new HtmlFragment(stylesheet),
    summary,
    badges: toHeadBadges(profile, toBadge(shown.findings), panels),
    // The file has no script that opens an editor: the place is text.
    handlerLabel: nameHandler(profile),
    controllerPlace: { place: summary.controller, link: '', at: '', call: '' },
    failures: Object.entries(profile.failures).map(([name, message]) => ({ name, message })),
    sections,
  })
  // HTML references would not do: HTML reads those to C1 characters as other characters.
  return escapeLines(detachLinks(html, token))
}

/** Hashes a stylesheet for the content security policy. */
function hashOf(style: string): string {
  return `sha256-${createHash('sha256').update(style).digest('base64')}`
}

/**
 * Makes the links of a page independent of the server: links to its panels lead to the sections of the page, links to
 * other sites stay, and other links are removed. The templates of the page escape every recorded quote.
 */
export function detachLinks(html: string, token: string): string {
  return html.replace(/\s(?:href|action|formaction)="([^"]*)"/g, (attribute, value: string) => {
    const link = value.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')
    if (/^(?:#|https?:)/.test(link)) return attribute
    const [, path = '', panel, anchor] = /^([^?#]*)(?:\?panel=([\w-]+)[^#]*)?(?:#([\w-]+))?$/.exec(link) ?? []
    if (path !== '' && path !== profileLink(token)) return ''
    const target = anchor ?? (panel === undefined ? undefined : `panel-${panel}`)
    return target === undefined ? '' : ` href="#${target}"`
  })
}
