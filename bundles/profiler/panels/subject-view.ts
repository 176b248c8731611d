import type { Application } from '../../../kernel/bundle.ts'
import type { PreviousComparison } from '../insight/compare/judge-comparison.ts'
import type { LinkedUnits, Occurrences, ShownProfile } from '../insight/relatives.ts'
import type { Profile } from '../profile/profile.ts'
import type { BadWork, WorkCount } from '../profile/work.ts'
import type { EditorLinks } from './editor-links.ts'
import type { ToolbarItem, ToolbarProfile } from './toolbar-items.ts'

/** The data of the template of a panel, which tests read. */
export type PanelModel = Readonly<Record<string, unknown>>

/** A profile that a panel shows, and the page around it. */
export interface PanelProfile extends ShownProfile {
  /** The parameters of the page, for panels with filters. */
  readonly query: URLSearchParams
  /** Reads the stored profiles of the sub-requests of a profile. */
  readonly findChildren: (profile: Profile) => Promise<readonly Profile[]>
  /** Finds the other requests with the error of a profile. */
  readonly findOccurrences: (profile: Profile) => Occurrences | undefined
  /** Finds the units that have caused a profile, or that it has caused. */
  readonly findLinked: (profile: Profile) => LinkedUnits
  /** Compares a profile with the previous one of the same request. */
  readonly findPrevious: (profile: Profile) => Promise<PreviousComparison | undefined>
}

/** A profile with its findings. */
export type Inspected = Pick<ShownProfile, 'findings' | 'profile'>

/** What panels use of the application. */
export interface PanelServices
  extends Pick<Application, 'bundles' | 'directory' | 'files' | 'findingRules' | 'redactor' | 'routes' | 'view'> {
  readonly editor: EditorLinks
  /** All views, in the order of the menu. Their code is loaded with the first call. */
  readonly panels: () => Promise<readonly SubjectView[]>
}

/**
 * All that is shown of a subject: its panel, and what it says in the other places. Profiles are
 * read from the disk: damaged parts of `collectors` and `process` are `undefined`, other data has
 * any shape. If a panel throws nevertheless, the page says that the panel cannot be shown.
 */
export interface SubjectView {
  /** In the address: `?panel=request`. */
  readonly name: string
  /** In the menu. */
  readonly label: string
  readonly template: string
  /** The names of the stored parts that are shown; by default the name of the view. */
  readonly stored?: readonly string[]
  /** Whether the panel has data to show. The menu dims the others. */
  hasContent(shown: Inspected): boolean
  /** A short count beside the label, such as `3`; empty when there is nothing to count. */
  badge?(shown: Inspected): WorkCount
  /** What is bad of its work, which the head of the page says. */
  readonly countBad?: (profile: Profile) => BadWork
  toView(shown: PanelProfile, app: PanelServices): PanelModel | Promise<PanelModel>
  /**
   * Returns blocks of Markdown with their headings (from level 2); none without data. `limit` is
   * the maximal length of a list. Without this method, the stored data is written.
   */
  toMarkdown?(shown: ShownProfile, limit: number): readonly string[]
  /** The text instead of Markdown without blocks, if it differs from the default text. */
  readonly nothing?: string
  /** Creates the items of the toolbar; none without data. */
  toItems?(shown: ToolbarProfile): readonly ToolbarItem[]
  /** Lists what the palette finds in the panel. */
  toEntries?(profile: Profile): readonly SearchEntry[]
  /** Its part of the error page. */
  readonly onErrorPage?: ErrorPart
}

/** A place of a panel that the palette finds. */
export interface SearchEntry {
  /** What it is, such as `Query`. */
  readonly group: string
  readonly label: string
  /** Further text that is searched, such as a value. */
  readonly hint?: string
  /** The id of the place. */
  readonly anchor: string
}

/** The most entries of a kind. */
export const entryLimit = 200

/** A request that has failed, and its profile so far. */
export interface FailedRequest {
  readonly profile: Profile
  /** The token of the main request; empty when its profile will not be stored. */
  readonly token: string
}

/** A part of the error page. All of it is masked. */
interface ErrorPart {
  /** The data for the template of the page; `false` if there is nothing to show. */
  toView(
    failed: FailedRequest,
    app: Pick<PanelServices, 'bundles' | 'directory' | 'editor' | 'routes' | 'view'>,
  ): PanelModel | false | Promise<PanelModel | false>
  /** Without this method, the Markdown of the page has that of the view. `limit` is the maximal length of a list. */
  toMarkdown?(profile: Profile, limit: number): readonly string[]
}
