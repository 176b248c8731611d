import type { Test } from 'tap'
import { frameworkBundle } from '../../../../bundles/framework/framework-bundle.ts'
import { createProfilerBundle, type ProfilerOptions } from '../../../../bundles/profiler/profiler-bundle.ts'
import { siteBundle } from '../../../../bundles/site/site-bundle.ts'
import type { Bundle } from '../../../../kernel/bundle.ts'
import { NodeServer } from '../../../../kernel/server/node-server.ts'
import { createTestKernel, type TestKernel } from '../../../../kernel/testing/create-test-kernel.ts'
import { TrustedProxies } from '../../../../lib/http/trusted-proxies.ts'
import { probeBundle } from '../../../support/probe-bundle.ts'
import { SearchableStorage } from './searchable-storage.ts'

/** How a profiler for tests differs from the usual. */
export interface ProfilerInit extends Omit<ProfilerOptions, 'storage'> {
  readonly variables?: Readonly<Record<string, string>>
  /** Beside the framework, the profiler, the site and the probe routes. */
  readonly bundles?: readonly Bundle[]
}

/** A kernel whose requests are recorded. */
export interface ProfiledKernel extends TestKernel {
  readonly storage: SearchableStorage
}

/** Boots a kernel with the profiler, the site and the probe routes. */
export async function bootProfiler(
  t: Test,
  { variables, bundles = [], ...options }: ProfilerInit = {},
): Promise<ProfiledKernel> {
  const storage = new SearchableStorage()
  const all = [frameworkBundle, createProfilerBundle({ ...options, storage }), siteBundle, probeBundle, ...bundles]
  const kernel = await createTestKernel({ bundles: all, ...(variables && { variables }) })
  t.teardown(() => kernel.close())
  return { ...kernel, storage }
}

/** The same behind a server on a free port of this machine. */
export async function serveProfiler(
  t: Test,
  init: ProfilerInit = {},
): Promise<ProfiledKernel & { readonly url: string }> {
  const kernel = await bootProfiler(t, init)
  const server = new NodeServer({ ...kernel.app, trustedProxies: new TrustedProxies([]) })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close(100))
  return { ...kernel, url }
}
