import type { Bundle } from '../kernel/bundle.ts'
import { isDebugOn } from '../kernel/debug-access.ts'
import type { Config } from '../lib/env/config.ts'
import { frameworkBundle } from './framework/framework-bundle.ts'
import { siteBundle } from './site/site-bundle.ts'

/** The bundles of the application, in the order in which they are registered. Add yours to the list. */
export async function loadBundles(config: Config): Promise<readonly Bundle[]> {
  const bundles = [frameworkBundle, siteBundle]
  return isDebugOn(config) ? [...bundles, await loadProfiler()] : bundles
}

/** Where debug is off, the profiler is not even loaded. */
async function loadProfiler(): Promise<Bundle> {
  const { createProfilerBundle } = await import('./profiler/profiler-bundle.ts')
  return createProfilerBundle()
}
