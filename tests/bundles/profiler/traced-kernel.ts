import type { Test } from 'tap'
import { frameworkBundle } from '../../../bundles/framework/framework-bundle.ts'
import type { PanelSubject, ProfilePanel } from '../../../bundles/profiler/panels/panel.ts'
import type { Profile } from '../../../bundles/profiler/profile.ts'
import { createProfilerBundle } from '../../../bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '../../../bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '../../../bundles/site/site-bundle.ts'
import type { Application, Bundle } from '../../../kernel/bundle.ts'
import { createTestKernel, type TestKernel } from '../../../kernel/testing/create-test-kernel.ts'
import { Response } from '../../../lib/http/response.ts'
import { probeBundle } from '../../support/probe-bundle.ts'

/** A kernel whose requests are profiled, and what is kept of them. */
export interface TracedKernel extends TestKernel {
  /** What a panel would show of the request that was answered so. */
  subjectOf(token: string | null): Promise<PanelSubject>
  /** The panel as HTML. */
  render(panel: ProfilePanel, subject: PanelSubject): Promise<string>
}

/** Boots a kernel with the profiler, the site and the probe routes; `register` adds what a test is about. */
export async function createTracedKernel(t: Test, register: Bundle['register'] = () => {}): Promise<TracedKernel> {
  const storage = new MemoryProfileStorage()
  const own: Bundle = { name: 'own', register }
  const bundles = [frameworkBundle, siteBundle, probeBundle, createProfilerBundle({ storage }), links, own]
  const kernel = await createTestKernel({ bundles })
  t.teardown(kernel.close)
  const find = async (token: string) => {
    // Profiles are kept when the response is on its way.
    while (!storage.has(token)) await new Promise(setImmediate)
    return storage.find(token)
  }
  return {
    ...kernel,
    async subjectOf(token) {
      const stored = await find(String(token))
      if (stored === undefined) throw new TypeError('There is no such profile.')
      const { facts, profile } = stored
      const children = await Promise.all(profile.children.map(find))
      const parent = profile.summary.parent === null ? undefined : await find(profile.summary.parent)
      return {
        profile,
        facts,
        parent: parent?.profile.summary,
        children: children.flatMap(child => (child === undefined ? [] : [child.profile.summary])),
      }
    },
    async render(panel, subject) {
      return kernel.app.view.render(panel.template, await panel.toView(subject))
    },
  }
}

/** Panels link to profiles, whoever shows them. */
const links: Bundle = {
  name: 'links',
  register({ routes }: Application) {
    if (routes.find('_profiler') !== undefined) return
    routes.add({ name: '_profiler', path: '/_profiler/:token', controller: () => Response.empty() })
  },
}

/** A profile that holds nothing but this. */
export function createSubject(data: Profile['data'], more: Partial<PanelSubject> = {}): PanelSubject {
  const summary: Profile['summary'] = {
    token: '0a1b2c',
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
    time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    duration: 5,
    memory: 12 * 1024 * 1024,
    exception: null,
    errors: 0,
    warnings: 0,
    calls: 0,
    subRequests: 0,
  }
  const profile: Profile = { schemaVersion: 1, summary, children: [], data, failures: {} }
  return { profile, facts: {}, parent: undefined, children: [], ...more }
}
