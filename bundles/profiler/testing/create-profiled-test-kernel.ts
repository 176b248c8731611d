import { setTimeout as wait } from 'node:timers/promises'
import { checkBundles } from '../../../kernel/mistakes/check-bundles.ts'
import {
  createTestKernel,
  type TestKernel,
  type TestKernelOptions,
} from '../../../kernel/testing/create-test-kernel.ts'
import { checkFunction, checkObject } from '../../../lib/errors/arguments.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Inspector } from '../insight/findings/inspector.ts'
import { showProfile } from '../insight/relatives.ts'
import type { Profile } from '../profile/profile.ts'
import { createProfilerBundle, type ProfilerOptions } from '../profiler-bundle.ts'
import { attachedTrace } from '../record/trace.ts'
import { MemoryProfileStorage } from '../store/memory-profile-storage.ts'
import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import { ProfileExpectation } from './profile-expectation.ts'

/** The options of a test kernel, and of its profiler. */
export interface ProfiledTestKernelOptions extends TestKernelOptions, Omit<ProfilerOptions, 'storage'> {}

/** A response of the test client, or a response of `fetch` with the header `x-debug-token`. */
export interface ProfiledResponse {
  /** The headers, which name the profile. */
  readonly headers: { get(name: string): string | null }
  /** The request, if the client of the test has sent it. */
  readonly request?: Request
}

/** A test kernel with the profiler, so that a test can check the profiles of its requests. */
export interface ProfiledTestKernel extends TestKernel {
  /** The store of all profiles, in memory. */
  readonly storage: ProfileStorage
  /** Returns the profile of a response. @throws TypeError if its request was not recorded */
  profileOf(response: ProfiledResponse): Promise<Profile>
  /** Returns the expectation for the profile of a response. @throws TypeError if its request was not recorded */
  expectProfile(response: ProfiledResponse): Promise<ProfileExpectation>
}

/**
 * Boots a kernel with the given bundles, such as that of the framework, and the profiler. The
 * profiler writes nothing to the disk.
 */
export async function createProfiledTestKernel(options: ProfiledTestKernelOptions): Promise<ProfiledTestKernel> {
  checkObject('createProfiledTestKernel()', options, { bundles: true })
  const { bundles, directory, dispatcher, variables, ...recording } = options
  if (!checkBundles(bundles).some(({ name }) => name === 'framework')) {
    throw new TypeError('The profiler needs the framework: put createFrameworkBundle first among the bundles.')
  }
  const storage = new MemoryProfileStorage()
  const profiler = createProfilerBundle({ ...recording, storage })
  const kernel = await createTestKernel({
    bundles: [...bundles, profiler],
    ...(directory !== undefined && { directory }),
    ...(dispatcher && { dispatcher }),
    ...(variables && { variables }),
  })
  const inspector = new Inspector(kernel.app.findingRules)
  const find = (response: ProfiledResponse) => waitForStored(storage, tokenOf(response))
  return {
    ...kernel,
    storage,
    profileOf: async response => (await find(response)).profile,
    expectProfile: async response => createExpectation(storage, inspector, await find(response)),
  }
}

/** A response of the test client may lack the header, but its request has a trace. */
function tokenOf(response: ProfiledResponse): string {
  checkFunction('expectProfile(response)', 'the method headers.get() of the response', response?.headers?.get)
  const { headers, request } = response
  const trace = request && attachedTrace(request)
  const token = request === undefined ? headers.get('x-debug-token') : trace?.token
  if (token) return token
  const asked = request === undefined ? 'the request' : `${request.method} ${request.url}`
  throw new TypeError(
    `There is no profile of ${asked}. Not recorded are assets, the profiler's own pages, and requests with "x-profiler: off".`,
  )
}

async function createExpectation(
  storage: ProfileStorage,
  inspector: Inspector,
  stored: StoredProfile,
): Promise<ProfileExpectation> {
  const found = await Promise.all(stored.profile.children.map(token => storage.find(token)))
  const children = found.filter(child => child !== undefined)
  const subRequests = await Promise.all(children.map(child => createExpectation(storage, inspector, child)))
  const rules = inspector.rules.map(({ name }) => name)
  return new ProfileExpectation(await showProfile(stored, storage, inspector), subRequests, undefined, rules)
}

/** Milliseconds: a profile is stored after its response was sent, on a busy machine much later. */
const patience = 15_000

/** Waits until a profile is stored and `isWanted` accepts it. @throws Error after `limit` milliseconds */
export async function waitForStored(
  storage: Pick<ProfileStorage, 'find'>,
  token: string,
  isWanted: (profile: Profile) => boolean = () => true,
  limit: number = patience,
): Promise<StoredProfile> {
  const end = performance.now() + limit
  for (;;) {
    const stored = await storage.find(token)
    if (stored !== undefined && isWanted(stored.profile)) return stored
    if (performance.now() > end) {
      const problem =
        stored === undefined ? 'There is no such profile' : `This never became true: ${isWanted}, of the profile`
      throw new Error(`${problem} "${token}".`)
    }
    await wait(1)
  }
}
