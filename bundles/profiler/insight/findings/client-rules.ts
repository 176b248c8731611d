import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { formatCount, formatNumber, toTarget } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { toReadableUrl } from '../../profile/readable-url.ts'

/** One redirect is usual: of a path without its slash, or of another host. */
const leastRedirects = 2

/** A login may redirect a few times until its page is shown. A chain that goes on redirecting is longer. */
const leastEndless = 5

/** Finds pages that the client reached by several redirects. The redirect after a form is right. */
export const redirectChainRule: FindingRule<Profile> = {
  name: 'redirect-chain',
  title: 'Chain of redirects',
  find({ collectors, summary }) {
    const redirects = (collectors.redirects ?? []).filter(({ method }) => method === 'GET' || method === 'HEAD')
    const isRedirect = summary.status >= 300 && summary.status < 400
    const [first] = redirects
    if (first === undefined || redirects.length < (isRedirect ? leastEndless : leastRedirects)) return []
    const urls = [...redirects, summary].map(({ url }) => toReadableUrl(toTarget(url)))
    return [
      {
        severity: 'warning',
        problem: `The client sent ${formatCount(redirects.length + 1, 'request')} until it had ${isRedirect ? 'another redirect' : 'this page'}: {chain}.`,
        values: { chain: urls.join(' → ') },
        advice: 'Redirect to the last address at once, and link to it.',
        place: { panel: 'request', token: first.token },
        evidence: { count: redirects.length },
      },
    ]
  },
}

/** Bytes of the name and the value. Chromium and Firefox drop a cookie with more. */
const cookieLimit = 4096

/** Finds cookies that browsers drop, or will soon drop when they grow. */
export const largeCookieRule: FindingRule<Profile> = {
  name: 'large-cookie',
  title: 'Large cookie',
  find: ({ collectors, summary }) =>
    (summary.parent === null ? (collectors.response?.largeCookies ?? []) : []).map(([name, bytes]) => {
      const size = Number(bytes)
      const isDropped = size > cookieLimit
      return {
        severity: isDropped ? 'error' : 'warning',
        problem: `The cookie {cookie} has ${formatNumber(size)} bytes${isDropped ? ': browsers drop it' : ', and the browser sends it with each request'}.`,
        values: { cookie: name },
        advice: `Store the data in the session, and only its id in a cookie: browsers drop a cookie of more than ${formatNumber(cookieLimit)} bytes.`,
        place: { panel: 'request', anchor: 'cookies' },
        evidence: { size },
      }
    }),
}
