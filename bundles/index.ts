import { type Bundle, type Config, createFrameworkBundle, isDebugOn } from 'sinfonietta'
import { siteBundle } from './site/site-bundle.ts'

/** The bundles of the application, in the order in which they are registered. Add yours to the list. */
export async function loadBundles(config: Config): Promise<readonly Bundle[]> {
  const bundles = [createFrameworkBundle(), siteBundle]
  return isDebugOn(config) ? [...bundles, ...(await loadDevelopment())] : bundles
}

/** Imports the bundles of development. Without debug they are not even loaded. */
async function loadDevelopment(): Promise<readonly Bundle[]> {
  const { makerBundle } = await import('sinfonietta/console')
  const { createProfilerBundle } = await import('sinfonietta/profiler')
  return [makerBundle, createProfilerBundle()]
}
