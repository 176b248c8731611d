import { knownMethods } from '../../../lib/http/request-line.ts'
import type { RouteCollection } from '../../../lib/routing/route.ts'
import { shownRoutes } from '../routing/shown-routes.ts'
import type { CpuTarget } from './arming.ts'

/** What somebody has asked for, in words. */
export interface WantedTarget {
  readonly route?: string | undefined
  readonly path?: string | undefined
  /** GET unless told else. */
  readonly method?: string | undefined
}

/** Finds what somebody has asked for: a target, or a sentence that says what is wrong with it. */
export function readTarget({ method, path, route }: WantedTarget, routes: RouteCollection): CpuTarget | string {
  if (route) {
    const isKnown = shownRoutes(routes).some(({ name }) => name === route)
    return isKnown ? { route } : `There is no route "${route}".`
  }
  if (!path) return 'Name a route or a path.'
  const name = (method || 'GET').toUpperCase()
  if (!knownMethods.some(known => known === name)) return `There is no method "${name}".`
  // A query is not part of what is compared.
  const [asked = ''] = path.split(/[?#]/)
  return asked.startsWith('/') ? { method: name, path: asked } : `A path begins with a slash, unlike "${path}".`
}
