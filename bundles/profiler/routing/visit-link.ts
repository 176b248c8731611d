import type { Route } from '../../../lib/routing/route.ts'

/** The path of a route when it can be followed as a link: nothing is left open in it, and it answers GET. Else empty. */
export function visitLink({ methods, path }: Pick<Route, 'methods' | 'path'>): string {
  const isRead = methods.length === 0 || methods.includes('GET')
  return path.names.length === 0 && isRead ? path.source : ''
}
