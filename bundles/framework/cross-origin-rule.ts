import type { FindingRule } from '../../kernel/profiler-contract.ts'
import { HTTP_CROSS_ORIGIN } from '../../lib/http/errors.ts'

/** Finds requests that were refused because a page of another origin has sent them, and says how to accept them. */
export const crossOriginRule: FindingRule = {
  name: 'cross-origin-request',
  title: 'Request of another origin',
  find({ summary: { exception } }) {
    if (exception !== HTTP_CROSS_ORIGIN.code) return []
    return [
      {
        severity: 'info',
        problem: 'The request was refused: a page of another origin has sent it.',
        advice:
          'If the page may send it, name its origin in the default _cross_origin of the route. If it is a page of this application, a proxy changes the host or the scheme: set TRUSTED_PROXIES.',
        place: { panel: 'exception' },
        evidence: {},
      },
    ]
  },
}
