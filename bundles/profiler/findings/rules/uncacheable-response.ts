import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import type { Profile } from '../../profile.ts'
import { readHeader } from '../../reading/read-headers.ts'
import { asNumber, asObject, asText } from '../../reading/read-soft.ts'

/** Finds pages that say of themselves, in contradiction to what is known of them, how they may be cached. */
export const uncacheableResponseRule: FindingRule<Profile> = {
  name: 'uncacheable-response',
  title: 'Response that caches cannot use',
  find({ data, summary }) {
    const { contentType, method, parent, status } = summary
    // Data is often made anew each time, on purpose.
    const isPage = method === 'GET' && status === 200 && parent === null && /^text\/html/i.test(contentType ?? '')
    return isPage ? judge(data) : []
  },
}

function judge(data: Profile['data']): RuleFinding[] {
  const control = readHeader(data.response, 'cache-control').join(', ').toLowerCase()
  const [cookie] = readHeader(data.response, 'set-cookie')
  const place = { panel: 'request', anchor: 'header-cache-control' }
  if (/\b(?:public|s-maxage)\b/.test(control)) {
    if (cookie !== undefined)
      return [
        {
          severity: 'error',
          problem: 'The page may be kept for everybody ({control}), and sets the cookie {cookie}.',
          values: { control, cookie: nameOf(cookie) },
          advice:
            'Set cookies with pages that are private only: shared caches keep them away, or give all clients the same.',
          place,
          evidence: {},
        },
      ]
    if (readHeader(data.response, 'vary').some(vary => vary.trim() === '*'))
      return [
        {
          severity: 'info',
          problem: 'The page may be kept for everybody ({control}), but with Vary: * no cache can use it again.',
          values: { control },
          advice: 'Name the request headers that it depends on.',
          place: { panel: 'request', anchor: 'header-vary' },
          evidence: {},
        },
      ]
  }
  if (/\bno-store\b/.test(control) && cookie === undefined && !isPersonal(data))
    return [
      {
        severity: 'info',
        problem:
          'The page forbids all caches to keep it ({control}), but was made without a session, cookies or credentials.',
        values: { control },
        advice: 'If everybody may see it, say how long it is good: public, max-age=60.',
        place,
        evidence: {},
      },
    ]
  return []
}

/** Whether the answer may be meant for one client only. */
function isPersonal({ request, session }: Profile['data']): boolean {
  const hasCredentials = ['cookie', 'authorization'].some(name => readHeader(request, name).length > 0)
  return hasCredentials || asNumber(asObject(session).useCount) > 0
}

function nameOf(cookie: string): string {
  return asText(cookie.split('=')[0])
}
