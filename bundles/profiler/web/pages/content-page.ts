import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { writeContent } from '../../profile/form-body.ts'
import { isPage } from '../panels/content.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { protect } from '../respond.ts'
import { renderMissing } from './find-profile.ts'

/**
 * The policy of a content: its own origin, which has no name, no script, no form, and nothing of other sites. Styles and images
 * of the application are loaded, so that a page looks as it did.
 */
const policy =
  "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** Responds with the stored content of a response: a page as a preview without scripts, everything else as text. */
export async function renderContent(
  token: string,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'profiler' | 'storage' | 'view'>,
): Promise<Response> {
  await app.profiler.whenWritten(token)
  const found = await app.storage.find(token)
  const content = found?.profile.collectors.response?.content
  const text = content === undefined ? '' : writeContent(content)
  if (content === undefined || text === '') return renderMissing(token, request, app)
  const response = protect(isPage(content) ? Response.html(text) : Response.text(text))
  response.headers.set('content-security-policy', policy)
  return response
}
