import type { Response } from '../../../lib/http/response.ts'

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // A page that has opened this one, or was opened by it, gets no hold of its window.
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // To other sites no address of a record; to the profiler's own forms, where they were sent from.
  'referrer-policy': 'same-origin',
}

/** Adds the headers that keep a page of the profiler to itself: whatever a record contains, nothing foreign is run or loaded. */
export function protect(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
