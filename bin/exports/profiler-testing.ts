/// <reference types="node" preserve="true" />
// For tests that check the profiles of requests.

export type { RanQueries } from '../../bundles/profiler/testing/checks/queries.ts'
export {
  createProfiledTestKernel,
  type ProfiledResponse,
  type ProfiledTestKernel,
  type ProfiledTestKernelOptions,
} from '../../bundles/profiler/testing/create-profiled-test-kernel.ts'
export type { Examination, ProfileCheck } from '../../bundles/profiler/testing/profile-check.ts'
export { ProfileAssertionError, ProfileExpectation } from '../../bundles/profiler/testing/profile-expectation.ts'
