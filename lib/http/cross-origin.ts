import type { Request } from './request.ts'

/** The header of a request that shows that a page of another origin has sent it. */
export interface CrossOriginSign {
  readonly header: 'sec-fetch-site' | 'origin'
  readonly value: string
}

/**
 * Finds the header that shows that a page of another origin (RFC 6454) has sent the request. `undefined` for a request of a
 * page of this origin, of the address bar, of a program, or of a page of an allowed origin.
 *
 * Browsers send Sec-Fetch-Site (W3C Fetch Metadata) over HTTPS and to the own machine: `same-origin`, `none` (the user),
 * `same-site` (another port or subdomain) or `cross-site`. Without it, the Origin header is compared with
 * {@link Request.origin}: old browsers, and pages over plain HTTP, send only that. Programs send neither.
 */
export function findCrossOrigin(
  { headers, origin }: Pick<Request, 'headers' | 'origin'>,
  allowed: readonly string[] = [],
): CrossOriginSign | undefined {
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return undefined
  const from = headers.get('origin')
  if (from !== null && allowed.includes(from)) return undefined
  if (site !== null) return { header: 'sec-fetch-site', value: site }
  return from === null || from === origin ? undefined : { header: 'origin', value: from }
}

/**
 * Whether a text is an origin as browsers send it: `https://example.org`, without a default port and without a path. Web
 * views of applications have schemes of their own: `capacitor://localhost`.
 */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  return /^https?:/.test(text) ? new URL(text).origin === text : /^[a-z][a-z\d+.-]*:\/\/[\w.-]+(?::\d+)?$/.test(text)
}

/** The mistake of a text in a list of origins, without a full stop. */
export function describeNoOrigin(list: string, text: unknown): string {
  return `${list} has "${text}": use an origin such as "https://example.org", without a path`
}
