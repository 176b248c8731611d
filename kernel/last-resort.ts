import type { Request } from '../lib/http/request.ts'
import { Response, statusText } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'

/**
 * Answers an error that nothing else has answered: the first of `errors`; the second kept the error page from being made.
 * It depends on as little as possible; when it throws, the answer is constant.
 */
export type LastResort = (request: Request, errors: readonly unknown[]) => Response

/** The answer when even the error page has failed: constant, and dependent on nothing that could fail too. */
export function lastResort(status = 500): Response {
  return new Response(`${statusText(status)}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'no-cache, private' },
  })
}

/** Tries a last resort; the constant answer is left when it fails. */
export function answerLast(
  attempt: LastResort,
  request: Request,
  errors: readonly unknown[],
  logger: Logger,
): Response {
  try {
    return attempt(request, errors)
  } catch (failure) {
    logger.critical('The last resort failed.', { exception: failure })
    return lastResort()
  }
}
