import type { Request } from '../lib/http/request.ts'
import { Response, statusText } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'

/**
 * Answers a request whose error page has failed. The first of `errors` is the error of the request, the second is the
 * error of the error page. A last resort depends on as little code as possible. If it throws, the response is constant.
 */
export type LastResort = (request: Request, errors: readonly unknown[]) => Response

/**
 * Creates the text response for an error that no other code can answer. It depends on nothing that could fail as well.
 */
export function createConstantResponse(status = 500): Response {
  return new Response(`${statusText(status)}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'no-cache, private' },
  })
}

/** Calls a last resort. If it fails, the response is constant. */
export function callLastResort(
  lastResort: LastResort,
  request: Request,
  errors: readonly unknown[],
  logger: Logger,
): Response {
  try {
    return lastResort(request, errors)
  } catch (failure) {
    logger.critical('The last resort failed.', { exception: failure })
    return createConstantResponse()
  }
}
