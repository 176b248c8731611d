import { createHash } from 'node:crypto'
import { Request } from '../../../lib/http/request.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { escapeControls } from '../../../lib/text/escape-controls.ts'
import { HtmlFragment, type View } from '../../../lib/view/view.ts'
import type { Assets } from '../assets.ts'
import { hasContent } from '../pages/create-menu.ts'
import { findChildren } from '../pages/find-children.ts'
import { renderPanel } from '../pages/render-panel.ts'
import { toSummaryView } from '../pages/to-summary-view.ts'
import type { ProfilePanel } from '../panels/panel.ts'
import type { Profile } from '../profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { detachLinks } from './detach-links.ts'
import type { RecordSubject } from './record-subject.ts'

/** What a file is made with. */
export interface HtmlFileServices {
  readonly view: View
  readonly logger: Logger
  readonly storage: ProfileStorage
  /** In the order in which they are shown. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
  readonly assets: Pick<Assets, 'stylesheet'>
}

/**
 * Makes one HTML file of a record, with all its panels and the stylesheet, to be kept or sent to somebody. It has no
 * scripts and loads nothing; its links lead within it. A policy of its own (by the hash of the stylesheet) sees to that.
 * Control characters are written as escapes.
 */
export async function toHtmlFile(subject: RecordSubject, services: HtmlFileServices): Promise<string> {
  const { assets, logger, storage, view } = services
  const { stylesheet } = assets
  const { profile } = subject
  const { token } = profile.summary
  const request = new Request({ method: 'GET', target: '/' })
  const panelSubject = {
    ...subject,
    query: new URLSearchParams(),
    findChildren: (profile: Profile) => findChildren(storage, profile),
  }
  const panels = await services.panels()
  const sections: object[] = []
  for (const panel of panels.filter(panel => hasContent(panel, profile))) {
    const { content, problem } = await renderPanel(panel, panelSubject, request, { logger, view })
    sections.push({ name: panel.name, label: panel.label, content, problem })
  }
  const summary = toSummaryView(profile.summary)
  const html = await view.render('profiler/file', {
    title: `${summary.status} ${summary.method} ${summary.target}`,
    policy: `default-src 'none'; style-src '${hashOf(stylesheet)}'; base-uri 'none'; form-action 'none'`,
    stylesheet: new HtmlFragment(stylesheet),
    summary,
    failures: Object.entries(profile.failures).map(([name, message]) => ({ name, message })),
    sections,
  })
  return escapeUnseen(detachLinks(html, token))
}

/** A file may be written to a terminal. A reference would not do: HTML reads those of C1 as other characters. */
function escapeUnseen(html: string): string {
  return html.replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu, escapeControls)
}

/** Of the text as the parser of a browser will see it. */
function hashOf(style: string): string {
  return `sha256-${createHash('sha256').update(style).digest('base64')}`
}
