import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { isSecretName } from '../../../../lib/redact/secret-names.ts'
import type { Profile } from '../../profile.ts'
import { readHeader } from '../../reading/read-headers.ts'
import { asNumber, asText } from '../../reading/read-soft.ts'

/** Finds cookies that others can read, send or change. */
export const insecureCookieRule: FindingRule<Profile> = {
  name: 'insecure-cookie',
  title: 'Insecure cookie',
  find({ data, summary }) {
    // What a sub-request sets is set with the main request's response, if at all.
    if (summary.parent !== null) return []
    const isSecure = summary.url.startsWith('https:')
    return readHeader(data.response, 'set-cookie')
      .map(parseCookie)
      .filter(cookie => !isRemoved(cookie, asNumber(summary.time)))
      .flatMap(cookie => judge(cookie, isSecure))
  },
}

interface Cookie {
  readonly name: string
  /** By their names in lower case. */
  readonly attributes: ReadonlyMap<string, string>
}

function parseCookie(field: string): Cookie {
  const [pair = '', ...attributes] = field.split(';')
  return {
    name: split(pair)[0],
    attributes: new Map(attributes.map(split).map(([name, value]) => [name.toLowerCase(), value])),
  }
}

function split(text: string): [name: string, value: string] {
  const [name, ...value] = text.split('=')
  return [asText(name).trim(), value.join('=').trim()]
}

/** It holds nothing any more. */
function isRemoved({ attributes }: Cookie, now: number): boolean {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined) return Number(maxAge) <= 0
  return Date.parse(attributes.get('expires') ?? '') <= now
}

/** Scripts send it along in a header, to show that they are of the site. */
const forScripts = /[cx]srf/i

function judge({ attributes, name }: Cookie, isSecure: boolean): RuleFinding[] {
  const sameSite = attributes.get('samesite')?.toLowerCase()
  const hasSecure = attributes.has('secure')
  const isCredential = isSecretName(name)
  const isRefused = sameSite === 'none' && !hasSecure
  const flaws = [
    isRefused && 'SameSite=None without Secure, which browsers refuse',
    isCredential && !attributes.has('httponly') && !forScripts.test(name) && 'no HttpOnly, so any script can read it',
    isCredential && sameSite === undefined && 'no SameSite, so other sites may have it sent',
    isSecure && !hasSecure && !isRefused && 'no Secure, so it is sent without encryption, too',
  ].filter(flaw => flaw !== false)
  if (flaws.length === 0) return []
  return [
    {
      severity: isRefused ? 'error' : 'warning',
      problem: `The cookie {cookie} has ${flaws.join('; ')}.`,
      values: { cookie: name },
      advice: 'Set it with HttpOnly, SameSite=Lax and, over HTTPS, Secure.',
      place: { panel: 'request', anchor: 'cookies' },
      evidence: { flaws: flaws.length },
    },
  ]
}
