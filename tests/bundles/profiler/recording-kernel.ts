import type { Test } from 'tap'
import { frameworkBundle } from '../../../bundles/framework/framework-bundle.ts'
import { createPanels } from '../../../bundles/profiler/create-panels.ts'
import type { ProcessFacts, Profile, ProfileSummary } from '../../../bundles/profiler/profile.ts'
import { createProfilerBundle, type ProfilerOptions } from '../../../bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '../../../bundles/profiler/store/memory-profile-storage.ts'
import type { ProfileStorage } from '../../../bundles/profiler/store/profile-storage.ts'
import { siteBundle } from '../../../bundles/site/site-bundle.ts'
import type { Application, Bundle } from '../../../kernel/bundle.ts'
import { type RequestHandler, toController } from '../../../kernel/controller/controller.ts'
import type { TestResponse } from '../../../kernel/testing/client.ts'
import { createTestKernel, type TestKernel } from '../../../kernel/testing/create-test-kernel.ts'
import { probeBundle } from '../../support/probe-bundle.ts'

/** A kernel that records its requests. */
export interface RecordingKernel extends TestKernel {
  readonly storage: MemoryProfileStorage
  /** The profile that a response names. */
  profileOf(response: TestResponse, header?: string): Promise<Profile>
  /** The HTML of a panel, and the text in it. */
  show(panel: string, profile: Profile): Promise<{ html: string; text: string }>
}

/** What a recording kernel has beside the framework, the site and the probe routes. */
export interface RecordingInit extends Omit<ProfilerOptions, 'storage'> {
  readonly handlers?: Readonly<Record<string, RequestHandler>>
  readonly register?: (app: Application) => void
}

/** Boots a kernel that records its requests in memory; it is closed when the test ends. */
export async function createRecordingKernel(t: Test, init: RecordingInit = {}): Promise<RecordingKernel> {
  const storage = new MemoryProfileStorage()
  const bundles = [
    frameworkBundle,
    siteBundle,
    probeBundle,
    createProfilerBundle({ ...init, storage }),
    createHandlerBundle(init),
  ]
  const kernel = await createTestKernel({ bundles })
  t.teardown(() => kernel.close())
  const panels = createPanels(kernel.app)

  return {
    ...kernel,
    storage,
    async profileOf({ headers }, header = 'x-debug-token') {
      return waitForProfile(storage, headers.get(header))
    },
    async show(name, profile) {
      const panel = panels.find(panel => panel.name === name)
      if (panel === undefined) throw new Error(`There is no panel "${name}".`)
      const stored = await storage.find(profile.summary.token)
      const facts: ProcessFacts = stored?.facts ?? {}
      const view = await panel.toView({ profile, facts, parent: undefined, children: [] })
      const html = await kernel.app.view.render(panel.template, view)
      return { html, text: toText(html) }
    },
  }
}

/** Finds a profile, which is kept after its response was sent. */
export async function waitForProfile(
  storage: ProfileStorage,
  token: string | null,
  isWanted: (profile: Profile) => boolean = () => true,
): Promise<Profile> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const profile = (await storage.find(String(token)))?.profile
    if (profile !== undefined && isWanted(profile)) return profile
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error(`There is no profile "${token}".`)
}

/** Gives the profiler a page to link to, and the kernel routes whose names are their paths. */
export function createHandlerBundle({ handlers = {}, register }: RecordingInit = {}): Bundle {
  return {
    name: 'handlers',
    register(app) {
      for (const [path, handler] of Object.entries(handlers)) {
        app.routes.add({ name: path, path, controller: toController(handler) })
      }
      register?.(app)
    },
  }
}

/** A profile with data of whatever shape. */
export function createProfile(data: Profile['data'], summary: Partial<ProfileSummary> = {}): Profile {
  const plain: ProfileSummary = {
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
  return { schemaVersion: 1, summary: { ...plain, ...summary }, children: [], data, failures: {} }
}

const entities: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#x27;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&#x3D;': '=',
  '&#x60;': '`',
  '&amp;': '&',
}

function toText(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&[^;]+;/g, entity => entities[entity] ?? entity)
    .replace(/\s+/g, ' ')
}
