import type { Fetch } from '../pages/accepts-fetch.ts'

/**
 * Whether an agent may ask: programs say nothing of where they come from. Browsers always do when they send (the Origin
 * of RFC 6454, and Fetch Metadata): no page of another site is let in, nor one that has taken our name (DNS rebinding),
 * as that name is none the gate of debug output knows.
 */
export function acceptsProgram({ headers, origin }: Pick<Fetch, 'headers' | 'origin'>): boolean {
  const from = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  return (from === null || from === origin) && (site === null || site === 'same-origin' || site === 'none')
}
