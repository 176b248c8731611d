/// <reference types="node" preserve="true" />
// For the list of bundles, and for bundles that add collectors and finding rules to the profiler.

import '../profiling/preloaded.ts'

export type { Profile } from '../../bundles/profiler/profile/profile.ts'
export { createProfilerBundle, type ProfilerOptions } from '../../bundles/profiler/profiler-bundle.ts'
export type { ProfileStorage } from '../../bundles/profiler/store/profile-storage.ts'
export type {
  CollectedRequest,
  Collector,
  CollectorPanel,
  CollectorToolbarItem,
  FindingMeasure,
  FindingPlace,
  FindingRule,
  InspectedProfile,
  RuleFinding,
  Severity,
} from '../../kernel/contracts/collectors.ts'
