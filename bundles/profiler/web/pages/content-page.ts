import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { type ContentData, writeContent } from '../../profile/content.ts'
import { formatValue } from '../../profile/format.ts'
import { isPage } from '../panels/content.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect, renderPage } from '../respond.ts'
import { renderMissing } from './find-profile.ts'

/**
 * The policy of a content: its own origin, which has no name, no script, no form, and nothing of other sites. Styles and images
 * of the application are loaded, so that a page looks as it did.
 */
const pagePolicy =
  "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** The policy of a text. A browser does not ask the application for an icon. */
const textPolicy = "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

/** Responds with the stored content of a response: a page as a preview without scripts, everything else as text. */
export async function renderContent(
  token: string,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'profiler' | 'storage' | 'view'>,
): Promise<Response> {
  await app.profiler.whenWritten(token)
  const found = await app.storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const content = found.profile.collectors.response?.content
  const text = content === undefined ? '' : readText(content)
  if (content === undefined || text === '') {
    const lead = `The profile "${token}" has no content of the response.`
    return renderPage('profiler/compare-none', { title: 'No content', lead }, request, app, 404)
  }
  const response = protect(isPage(content) ? Response.html(text) : Response.text(text))
  response.headers.set('content-security-policy', isPage(content) ? pagePolicy : textPolicy)
  return response
}

/** JSON is indented: its spaces are not stored. */
function readText(content: ContentData): string {
  return content.json === undefined ? writeContent(content) : formatValue(content.json[0])
}
