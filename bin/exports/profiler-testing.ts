/// <reference types="node" preserve="true" />
// For tests that check the profiles of requests.

export type { Examination, ProfileCheck, RanQueries } from '../../bundles/profiler/testing/checks.ts'
export {
  createProfiledTestKernel,
  type ProfiledResponse,
  type ProfiledTestKernel,
  type ProfiledTestKernelOptions,
} from '../../bundles/profiler/testing/create-profiled-test-kernel.ts'
export { ProfileAssertionError, ProfileExpectation } from '../../bundles/profiler/testing/profile-expectation.ts'
