import type { PreviousComparison } from '../../insight/compare/judge-comparison.ts'
import type { Occurrences, ShownProfile } from '../../insight/relatives.ts'
import type { DistributedTrace } from '../../insight/timeline/services.ts'
import type { Profile } from '../../profile/profile.ts'

/** The data of the template of a panel, which tests read. */
export type PanelModel = Readonly<Record<string, unknown>>

/** A profile that a panel shows, and the page around it. */
export interface PanelProfile extends ShownProfile {
  /** The parameters of the page, for panels with filters. */
  readonly query: URLSearchParams
  /** Reads the stored profiles of the sub-requests of a profile. */
  readonly findChildren: (profile: Profile) => Promise<readonly Profile[]>
  /** Finds the other requests with the error of a profile. */
  readonly findOccurrences: (profile: Profile) => Promise<Occurrences | undefined>
  /** Compares a profile with the previous one of the same request. */
  readonly findPrevious: (profile: Profile) => Promise<PreviousComparison | undefined>
  /** Reads the other parts of the distributed trace of a profile. */
  readonly findDistributedTrace: (profile: Profile) => Promise<DistributedTrace>
}

/**
 * One page of a profile. Profiles are read from the disk: damaged parts of `collectors` and `process` are `undefined`,
 * other data has any shape. If a panel throws nevertheless, the page says that the panel cannot be shown.
 */
export interface ProfilePanel {
  /** In the address: `?panel=request`. */
  readonly name: string
  /** In the menu. */
  readonly label: string
  readonly template: string
  /** Whether the panel has data to show. The menu lists the panels without data last. */
  hasContent(profile: Profile): boolean
  /** A short count beside the label, such as `3`; empty when there is nothing to count. */
  badge?(profile: Profile): { readonly text: string; readonly level: 'plain' | 'warning' | 'error' }
  toView(shown: PanelProfile): PanelModel | Promise<PanelModel>
}
