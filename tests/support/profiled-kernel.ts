import type { Test } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createPanels } from '../../bundles/profiler/create-panels.ts'
import type { ProfilePanel } from '../../bundles/profiler/panels/panel.ts'
import type { Profile } from '../../bundles/profiler/profile.ts'
import { createProfilerBundle, type ProfilerOptions } from '../../bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '../../bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '../../bundles/site/site-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { type RequestHandler, toController } from '../../kernel/controller/controller.ts'
import type { TestResponse } from '../../kernel/testing/client.ts'
import { createTestKernel, type TestKernel } from '../../kernel/testing/create-test-kernel.ts'

/** A kernel whose requests are profiled. */
export interface ProfiledKernel extends TestKernel {
  readonly storage: MemoryProfileStorage
  /** The profile of a response, as it was kept. */
  profileOf(response: TestResponse): Promise<Profile>
  panel(name: string): ProfilePanel
  /** The page of a panel. */
  show(name: string, profile: Profile): Promise<string>
}

/** Boots a kernel with the site, the profiler, and handlers by their paths. */
export async function createProfiledKernel(
  t: Test,
  handlers: Readonly<Record<string, RequestHandler>> = {},
  options: ProfilerOptions & { readonly variables?: Record<string, string> } = {},
): Promise<ProfiledKernel> {
  const storage = new MemoryProfileStorage()
  const bundles = [
    frameworkBundle,
    siteBundle,
    createHandlerBundle(handlers),
    createProfilerBundle({ storage, ...options }),
  ]
  const kernel = await createTestKernel({ bundles, variables: options.variables ?? {} })
  t.teardown(() => kernel.close())
  const panels = createPanels(kernel.app)

  async function find(token: string | null): Promise<Profile> {
    // It is kept a little after the response was sent.
    for (let attempt = 0; attempt < 200; attempt++) {
      const stored = await storage.find(token ?? '')
      if (stored !== undefined) return stored.profile
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    throw new Error(`There is no profile "${token}".`)
  }

  function panel(name: string): ProfilePanel {
    const found = panels.find(panel => panel.name === name)
    if (found === undefined) throw new Error(`There is no panel "${name}".`)
    return found
  }

  return {
    ...kernel,
    storage,
    panel,
    profileOf: response => find(response.headers.get('x-debug-token')),
    async show(name, profile) {
      const shown = panel(name)
      const view = await shown.toView({ profile, facts: {}, parent: undefined, children: [] })
      return kernel.app.view.render(shown.template, view)
    },
  }
}

/** A profile with what one collector has told, in whatever shape. */
export function createProfile(data: Readonly<Record<string, unknown>>): Profile {
  const summary: Profile['summary'] = {
    token: 'abc123',
    parent: null,
    type: 'request',
    outcome: 'complete',
    status: 200,
    ip: '127.0.0.1',
    method: 'GET',
    url: 'http://localhost/',
    route: null,
    controller: null,
    contentType: null,
    time: 0,
    duration: 1,
    memory: 0,
    exception: null,
    errors: 0,
    warnings: 0,
    calls: 0,
    subRequests: 0,
  }
  return { schemaVersion: 1, summary, children: [], data, failures: {} }
}

function createHandlerBundle(handlers: Readonly<Record<string, RequestHandler>>): Bundle {
  return {
    name: 'handlers',
    register({ routes }) {
      for (const [path, handler] of Object.entries(handlers)) {
        routes.add({ name: path, path, controller: toController(handler) })
      }
    },
  }
}
