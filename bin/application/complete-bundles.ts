import type { Bundle } from '../../kernel/bundle.ts'
import { isDebugOn } from '../../kernel/debug/debug-gate.ts'
import { checkBundles } from '../../kernel/mistakes/check-bundles.ts'
import type { Config } from '../../lib/env/config.ts'

/**
 * Adds what an application needs not list: the framework bundle at the beginning and, while debug
 * is on, the generators and the profiler at the end. A bundle of the same name in the list takes
 * its place. Without debug, the bundles of development are not even loaded.
 *
 * @throws KERNEL_BUNDLE_INVALID and the other errors of the list
 */
export async function completeBundles(listed: unknown, config: Config): Promise<readonly Bundle[]> {
  const bundles = checkBundles(listed)
  const missing = async (name: string, load: () => Promise<Bundle>) =>
    bundles.some(bundle => bundle.name === name) ? [] : [await load()]
  const framework = await missing('framework', async () => {
    const { createFrameworkBundle } = await import('../../bundles/framework/framework-bundle.ts')
    return createFrameworkBundle()
  })
  if (!isDebugOn(config)) return [...framework, ...bundles]
  const maker = await missing('maker', async () => (await import('../../bundles/maker/maker-bundle.ts')).makerBundle)
  const profiler = await missing('profiler', async () => {
    const { createProfilerBundle } = await import('../../bundles/profiler/profiler-bundle.ts')
    return createProfilerBundle()
  })
  return [...framework, ...bundles, ...maker, ...profiler]
}
