import { Response } from '../lib/http/response.ts'
import { statusText } from '../lib/http/status.ts'

/** The answer when even the error page has failed: constant, and dependent on nothing that could fail too. */
export function lastResort(status = 500): Response {
  return new Response(`${statusText(status)}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'no-cache, private' },
  })
}
