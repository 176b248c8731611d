import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { siteBundle } from './site/site-bundle.ts'

/**
 * The bundles of the application, in the order in which they are registered. Add yours to the
 * list. Tests take it whole.
 */
export function createBundles(): Bundle[] {
  return [createFrameworkBundle(), siteBundle]
}
