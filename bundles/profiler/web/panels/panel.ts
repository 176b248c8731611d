import type { ViewModel } from '../../../../lib/view/view.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { JsonObject } from '../../profile/schema.ts'

/** What a panel is made of. */
export interface PanelSubject {
  readonly profile: Profile
  readonly facts: JsonObject
  /** The request that this sub-request was made by, when its profile is there. */
  readonly parent: ProfileSummary | undefined
  /** Its sub-requests whose profiles are there. */
  readonly children: readonly ProfileSummary[]
  /** The parameters of the page, for panels that can be filtered. */
  readonly query: URLSearchParams
  /** Reads the profiles of the sub-requests of a profile, as far as they are there. */
  readonly findChildren: (profile: Profile) => Promise<readonly Profile[]>
}

/**
 * One page of a profile. What it reads was on the disk, where anything may have happened to it: it takes data of any
 * shape for empty. When it throws nevertheless, the page says that the panel cannot be shown.
 */
export interface ProfilePanel {
  /** In the address: `?panel=request`. */
  readonly name: string
  /** In the menu. */
  readonly label: string
  readonly template: string
  /** Whether there is anything to show; the menu says so. */
  hasContent(profile: Profile): boolean
  /** A short count beside the label, such as `3`; empty when there is nothing to count. */
  badge?(profile: Profile): { readonly text: string; readonly level: 'plain' | 'warning' | 'error' }
  toView(subject: PanelSubject): ViewModel | Promise<ViewModel>
}
