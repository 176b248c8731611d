import { Response } from '../lib/http/response.ts'

/** The answer when even the error page has failed: constant, and dependent on nothing that could fail too. */
export function lastResort(): Response {
  return new Response('Internal Server Error\n', {
    status: 500,
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'no-cache, private' },
  })
}
