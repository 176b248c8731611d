import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { formatCount, formatNumber, toTarget } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { toReadableUrl } from '../../profile/readable-url.ts'
import { findCode } from './time-rules.ts'

/** One redirect is usual: of a path without its slash, or of another host. */
const leastRedirects = 2

/** A login may redirect a few times until its page is shown. A chain that goes on redirecting is longer. */
const leastEndless = 5

/** Finds pages that the client reached by several redirects. The redirect after a form is right. */
export const redirectChainRule: FindingRule<Profile> = {
  name: 'redirect-chain',
  title: 'Chain of redirects',
  // A replay follows no redirects.
  isRepeatable: false,
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
  find(profile) {
    const { collectors, summary } = profile
    // The client receives the cookies of the main response only.
    const cookies = summary.parent === null ? (collectors.response?.largeCookies ?? []) : []
    const { setter, ...code } = cookies.length === 0 ? { setter: '' } : findSetter(profile)
    return cookies.map(([name, bytes]) => {
      const size = Number(bytes)
      const isDropped = size > cookieLimit
      return {
        severity: isDropped ? 'error' : 'warning',
        problem: `The cookie {cookie}, set in {setter}, has ${formatNumber(size)} bytes${isDropped ? ': browsers drop it' : ', and the browser sends it with each request'}.`,
        values: { cookie: name, setter },
        ...code,
        advice: `Store the data in the session, and only its id in a cookie: browsers drop a cookie of more than ${formatNumber(cookieLimit)} bytes.`,
        place: { panel: 'request', anchor: 'cookies' },
        evidence: { size },
      }
    })
  },
}

/** The listener that has set the cookies of the response, else the controller. */
function findSetter(profile: Profile): { readonly setter: string } & Pick<RuleFinding, 'code'> {
  const listener = readEventTree(profile).nodes.find(
    ({ details, kind }) =>
      kind === 'call' && details.some(change => /^(?:set|changed) header set-cookie$/.test(change)),
  )
  if (listener !== undefined) return { setter: listener.name, ...findCode(listener, profile) }
  return { setter: profile.summary.controller ?? 'the controller' }
}

/** More paths are not named in the sentence. */
const namedPaths = 3

/** Finds pages that refer to files that do not exist. */
export const missingAssetRule: FindingRule<Profile> = {
  name: 'missing-asset',
  title: 'Missing file',
  // The browser requests the files of the page, which a replay does not.
  isRepeatable: false,
  find({ collectors }) {
    const { paths } = collectors.missing ?? { paths: [] }
    if (paths.length === 0) return []
    const named = paths.slice(0, namedPaths)
    const names = named.map((_, index) => `{path-${index}}`).join(', ')
    const others = paths.length - named.length
    return [
      {
        severity: 'warning',
        problem: `The page refers to ${formatCount(paths.length, 'file')} that ${paths.length === 1 ? 'does' : 'do'} not exist: ${names}${others === 0 ? '' : ` and ${others} more`}.`,
        values: { ...Object.fromEntries(named.map((path, index) => [`path-${index}`, path])) },
        advice: 'Correct the address in the template, or add the file to the assets of its bundle.',
        place: { panel: 'templates' },
        evidence: { count: paths.length },
      },
    ]
  },
}
