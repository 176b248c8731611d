import assert from 'node:assert'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import type { ProfileStorage } from 'sinfonietta/profiler'
import { createRequest, type TestResponse } from 'sinfonietta/testing'
import { t as root, type Test } from 'tap'
import { compareWithPrevious } from '#bundles/profiler/insight/compare/judge-comparison.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { findChildren, findLinked, findOccurrences, findRelatives } from '#bundles/profiler/insight/relatives.ts'
import { findSinceEdit } from '#bundles/profiler/insight/since-edit.ts'
import { createEditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import type { PanelProfile, PanelServices, SubjectView } from '#bundles/profiler/panels/subject-view.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { readLimit } from '#bundles/profiler/store/profile-storage.ts'
import { CpuSampler } from '#bundles/profiler/subjects/cpu/cpu-sampler.ts'
import { listViews } from '#bundles/profiler/subjects/views.ts'
import {
  createProfiledTestKernel,
  type ProfiledTestKernel,
  type ProfiledTestKernelOptions,
  waitForStored,
} from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import type { StoredProfile } from './create-profile.ts'
import { createHandlerBundle } from './handler-bundle.ts'
import { probeBundle } from './probe-bundle.ts'
import { portableSite } from './project.ts'

/** The options of a profiled kernel, which has the framework, the profiler, the site and the probe routes. */
export interface ProfiledInit extends Partial<ProfiledTestKernelOptions> {
  /** By their paths. */
  readonly handlers?: Readonly<Record<string, RequestHandler>>
  readonly register?: Bundle['register']
}

/** An object with the headers of a response. */
export interface Answer {
  readonly headers: { get(name: string): string | null }
}

/** A kernel whose requests are profiled. */
export interface ProfiledKernel extends ProfiledTestKernel {
  /** The stored profile of a response, or of another request that the response names in this header. */
  storedOf(response: Answer, header?: string): Promise<StoredProfile>
  profileOf(response: Answer, header?: string): Promise<Profile>
  panel(name: string): TestPanel
  /** All panels, in the order of the menu. */
  panels(): readonly TestPanel[]
  /** A panel as HTML; relatives of the profile that are not given are looked up. */
  show(panel: string | TestPanel, shown: Profile | Shown): Promise<string>
}

/** A panel of the application. */
export interface TestPanel extends Pick<SubjectView, 'name' | 'label' | 'template' | 'stored'> {
  hasContent(profile: Profile): boolean
  badge(profile: Profile): ReturnType<NonNullable<SubjectView['badge']>> | undefined
  toView(shown: PanelProfile): ReturnType<SubjectView['toView']>
}

/** A profile, and further data for a panel. */
export type Shown = Pick<PanelProfile, 'profile'> & Partial<PanelProfile>

/** Boots a kernel whose profiles are kept in memory; it is closed when the test ends. */
export async function createProfiledKernel(t: Test, init: ProfiledInit = {}): Promise<ProfiledKernel> {
  const { handlers = {}, register = () => {}, bundles = [], ...options } = init
  const own = [createHandlerBundle(handlers), { name: 'own', register }]
  const kernel = await createProfiledTestKernel({
    // Coverage would be reset.
    cpuSampler: new CpuSampler({ keepsCode: true }),
    ...options,
    bundles: [createFrameworkBundle(), portableSite, probeBundle, ...own, ...bundles],
  })
  const { storage } = kernel
  t.teardown(() => kernel.close())
  const listPanels = () => listViews(kernel.app.collectors)
  const services: PanelServices = {
    ...kernel.app,
    editor: createEditorLinks(kernel.app),
    panels: async () => listPanels(),
  }
  const inspector = new Inspector(kernel.app.findingRules)

  function panel(name: string): TestPanel {
    const view = listPanels().find(view => view.name === name)
    assert(view, `There is no panel "${name}".`)
    const inspect = (profile: Profile) => ({ profile, findings: inspector.inspect(profile) })
    return {
      ...view,
      hasContent: profile => view.hasContent(inspect(profile)),
      badge: profile => view.badge?.(inspect(profile)),
      toView: shown => view.toView(shown, services),
    }
  }

  async function toPanelProfile(shown: Shown): Promise<PanelProfile> {
    const find = async (token: string) => (await storage.find(token))?.profile.summary
    const { children, summary } = shown.profile
    const found = await Promise.all(children.map(find))
    const { summaries } = await storage.search({ limit: readLimit })
    const { earlier } = findRelatives(summaries, shown.profile)
    return {
      isPinned: false,
      findings: inspector.inspect(shown.profile),
      parent: summary.parent === null ? undefined : await find(summary.parent),
      children: found.filter(child => child !== undefined),
      earlier,
      sinceEdit: await findSinceEdit(shown.profile, earlier, { storage, judge: new Inspector([]) }),
      query: new URLSearchParams(),
      findChildren: profile => findChildren(storage, summaries, profile),
      findLinked: ({ summary }) => findLinked(summaries, summary),
      findOccurrences: ({ summary }) => findOccurrences(summaries, summary),
      findPrevious: profile => compareWithPrevious(storage, summaries, profile),
      ...shown,
    }
  }

  const storedOf: ProfiledKernel['storedOf'] = ({ headers }, header = 'x-debug-token') =>
    waitForStored(storage, String(headers.get(header)))

  return {
    ...kernel,
    panel,
    panels: () => listPanels().map(({ name }) => panel(name)),
    storedOf,
    profileOf: async (response, header) => (await storedOf(response, header)).profile,
    async show(name, shown) {
      const found = typeof name === 'string' ? panel(name) : name
      const view = await found.toView(await toPanelProfile('profile' in shown ? shown : { profile: shown }))
      return kernel.app.view.render(found.template, view, createRequest())
    },
  }
}

/** A kernel with a page, and what its first request has left. */
export interface ProfiledPage extends ProfiledKernel {
  readonly response: TestResponse
  readonly profile: Profile
}

/** Boots a kernel with one page, and asks for it. */
export async function profilePage(t: Test, handler: RequestHandler, init: ProfiledInit = {}): Promise<ProfiledPage> {
  const kernel = await createProfiledKernel(t, { ...init, handlers: { '/page': handler } })
  const response = await kernel.client.get('/page')
  return { ...kernel, response, profile: await kernel.profileOf(response) }
}

let shared: Promise<ProfiledKernel> | undefined

/**
 * The kernel of all tests of this process that only show panels: each kernel watches the requests
 * of all tests that run beside it.
 */
export function shareKernel(): Promise<Pick<ProfiledKernel, 'panel' | 'show'>> {
  shared ??= createProfiledKernel(root)
  return shared
}

/** Waits for the profile of a token, optionally until it fulfils a condition. */
export async function waitForProfile(
  storage: ProfileStorage,
  token: string | null,
  isWanted?: (profile: Profile) => boolean,
): Promise<Profile> {
  return (await waitForStored(storage, String(token), isWanted)).profile
}
