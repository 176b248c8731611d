import type { ProfileSummary } from '../profile.ts'
import { groupByParent } from './group-by-parent.ts'
import { type SummaryView, toSummaryView } from './to-summary-view.ts'

/** A row of the list of records. */
export interface RowView extends SummaryView {
  /** Whether it stands below the row of the request that it was made by. */
  readonly isBelowParent: boolean
}

/** Makes the rows of records; where they are not sorted by something else, sub-requests stand below their parents. */
export function createRows(
  summaries: readonly ProfileSummary[],
  { isGrouped = true }: { readonly isGrouped?: boolean } = {},
): RowView[] {
  const listed = isGrouped ? groupByParent(summaries) : summaries.map(summary => ({ summary, isBelowParent: false }))
  return listed.map(({ summary, isBelowParent }) => ({ ...toSummaryView(summary), isBelowParent }))
}
