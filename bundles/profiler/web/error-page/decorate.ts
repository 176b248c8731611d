import { type Controller, defineController, resolveArguments } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug/debug-gate.ts'
import type { LastResort } from '../../../../kernel/last-resort.ts'
import { isJsonType, mediaTypeOf } from '../../../../lib/http/media-type.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { toVisibleJson } from '../../../../lib/text/escapes.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import { nameProfile } from '../../record/request-recorder.ts'
import type { ErrorPage } from './error-page.ts'

/** The services that the error controller uses. */
interface DecorationServices {
  /** Its code is loaded with the first call. */
  readonly page: () => Promise<Pick<ErrorPage, 'linkTo' | 'toHtml' | 'toMarkdown'>>
  readonly debugGate: DebugGate
  readonly logger: Logger
}

/**
 * Creates a controller that answers as the inner one does, with more details for developers: HTML and text are replaced
 * by renderings of the profile so far, and JSON has its link. If that fails, the answer of the inner controller stays.
 */
export function decorateErrorController(inner: Controller, services: DecorationServices): Controller {
  const { debugGate, logger } = services
  return defineController(inner.name, async request => {
    const response = await inner.call(...(await resolveArguments(inner, request)))
    if (!(response instanceof Response) || !debugGate.allows(request)) return response
    try {
      const body = await renderDetails(response, request, services)
      if (body !== undefined) response.body = body
    } catch (error) {
      logger.error('The debug error page could not be rendered.', { exception: error })
    }
    return response
  })
}

async function renderDetails(
  { body, headers, status }: Response,
  request: Request,
  { page }: DecorationServices,
): Promise<string | undefined> {
  const type = mediaTypeOf(headers.get('content-type'))
  if (type === 'text/html') return (await page()).toHtml(request, status)
  if (type.startsWith('text/')) return (await page()).toMarkdown(request, status)
  return (isJsonType(type) && addLink(String(body), (await page()).linkTo(request))) || undefined
}

/** Adds the member `profile` to the problem details (RFC 9457) of an error. */
function addLink(problem: string, profile: string | undefined): string | undefined {
  return profile === undefined ? undefined : toVisibleJson({ ...JSON.parse(problem), profile })
}

interface LastResortServices {
  readonly profiler: Pick<Profiler, 'find' | 'keeps'>
  readonly debugGate: DebugGate
}

/** Creates a last resort that also links to the profile of the request, for clients that may see it. */
export function decorateLastResort(inner: LastResort, { debugGate, profiler }: LastResortServices): LastResort {
  return (request, errors) => {
    const response = inner(request, errors)
    const trace = profiler.find(request)
    if (trace === undefined || !profiler.keeps(trace) || !debugGate.allows(request)) return response
    nameProfile(response.headers, request, trace.token)
    const link = `<p><a href="${profileLink(trace.token)}">The profile of this request</a></p>\n</body>`
    response.body = String(response.body).replace('</body>', link)
    return response
  }
}
