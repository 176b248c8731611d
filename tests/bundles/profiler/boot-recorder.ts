import path from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { frameworkBundle } from '../../../bundles/framework/framework-bundle.ts'
import { createPanels } from '../../../bundles/profiler/create-panels.ts'
import type { Profile } from '../../../bundles/profiler/profile.ts'
import { createProfilerBundle } from '../../../bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '../../../bundles/profiler/store/memory-profile-storage.ts'
import type { StoredProfile } from '../../../bundles/profiler/store/profile-storage.ts'
import { siteBundle } from '../../../bundles/site/site-bundle.ts'
import type { Bundle } from '../../../kernel/bundle.ts'
import { createTestKernel, type TestKernel } from '../../../kernel/testing/create-test-kernel.ts'
import { createRequest } from '../../../kernel/testing/event-factories.ts'
import { Response } from '../../../lib/http/response.ts'
import { probeBundle } from '../../support/probe-bundle.ts'

/** A kernel whose requests are recorded, in a folder of its own, so that sessions are written there. */
export interface Recorder extends TestKernel {
  readonly storage: MemoryProfileStorage
  /** The profile that a response names, as soon as it is kept. */
  profileOf(response: { readonly headers: { get(name: string): string | null } }): Promise<StoredProfile>
  /** A panel as it is shown. */
  render(panel: string, stored: StoredProfile): Promise<string>
}

/** Boots a kernel with the profiler, the site, the probe routes and what a test adds. */
export async function bootRecorder(
  t: Test,
  bundles: readonly Bundle[] = [],
  variables: Readonly<Record<string, string>> = {},
): Promise<Recorder> {
  const storage = new MemoryProfileStorage()
  const own = [frameworkBundle, siteBundle, probeBundle, createProfilerBundle({ storage }), profilerRoute]
  const directory = t.testdir({
    templates: t.fixture('symlink', path.resolve('templates')),
    bundles: t.fixture('symlink', path.resolve('bundles')),
  })
  const kernel = await createTestKernel({ bundles: [...own, ...bundles], directory, variables })
  t.teardown(() => kernel.close())
  return {
    ...kernel,
    storage,
    async profileOf({ headers }) {
      const token = String(headers.get('x-debug-token'))
      let stored = await storage.find(token)
      while (stored === undefined) {
        await pause()
        stored = await storage.find(token)
      }
      return stored
    },
    async render(name, { profile, facts }) {
      const panel = createPanels(kernel.app).find(panel => panel.name === name)
      if (panel === undefined) throw new TypeError(`There is no panel "${name}".`)
      const find = async (token: string) => (await storage.find(token))?.profile.summary
      const children = await Promise.all(profile.children.map(find))
      const subject = {
        profile,
        facts,
        parent: profile.summary.parent === null ? undefined : await find(profile.summary.parent),
        children: children.filter(child => child !== undefined),
      }
      return kernel.app.view.render(panel.template, await panel.toView(subject), createRequest())
    },
  }
}

/** What a collector has told. */
export function dataOf<data>({ profile }: StoredProfile, name: keyof Profile['data']): data {
  // It was written as JSON by that collector; a test says which shape it expects.
  return profile.data[name] as data
}

/** Only for links to profiles, where nothing else has added it. */
const profilerRoute: Bundle = {
  name: 'profiler-route',
  register({ routes }) {
    if (routes.find('_profiler') !== undefined) return
    routes.add({ name: '_profiler', path: '/_profiler/:token', controller: () => new Response() })
  },
}
