import type { Bundle } from '../kernel/bundle.ts'
import { isDebugOn } from '../kernel/debug-gate.ts'
import type { Config } from '../lib/env/config.ts'
import { createFrameworkBundle } from './framework/framework-bundle.ts'
import { siteBundle } from './site/site-bundle.ts'

/** The bundles of the application, in the order in which they are registered. Add yours to the list. */
export async function loadBundles(config: Config): Promise<readonly Bundle[]> {
  const bundles = [createFrameworkBundle(), siteBundle]
  return isDebugOn(config) ? [...bundles, ...(await loadDevelopment())] : bundles
}

/** Imports the bundles of development. Without debug they are not even loaded. */
async function loadDevelopment(): Promise<readonly Bundle[]> {
  const { makerBundle } = await import('./maker/maker-bundle.ts')
  const { createProfilerBundle } = await import('./profiler/profiler-bundle.ts')
  return [makerBundle, createProfilerBundle()]
}
