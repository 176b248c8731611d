import type { Fetch } from '../../web/access.ts'

/**
 * Whether an agent may ask, going by where it says that it is. Programs say nothing; browsers do whenever they send (the
 * Origin of RFC 6454, and Fetch Metadata), and no page of another site is let in. One that has taken our address under a
 * name of its own (DNS rebinding) is of the same origin: the gate of debug output refuses that name.
 */
export function acceptsProgram({ headers, origin }: Pick<Fetch, 'headers' | 'origin'>): boolean {
  const from = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  return (from === null || from === origin) && (site === null || site === 'same-origin' || site === 'none')
}
