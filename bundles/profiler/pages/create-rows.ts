import { listChangeLink } from '../links.ts'
import type { ProfileSummary } from '../profile.ts'
import { groupByParent } from './group-by-parent.ts'
import { type Badge, type SummaryView, toSummaryView, withBadge } from './to-summary-view.ts'

/** A row of the list of records. */
export interface RowView extends SummaryView {
  /** Whether it stands below the row of the request that it was made by. */
  readonly isBelowParent: boolean
  /** The length of its bar, in hundredths of the longest. */
  readonly share: string
  /** Where rows can be selected and pinned. */
  readonly actions: { readonly isPinned: boolean; readonly pinLink: string } | false
}

/** How rows are listed. */
export interface RowOptions {
  /** Whether sub-requests stand below their parents; unless they are sorted by something else, they do. */
  readonly isGrouped?: boolean
  /** What was found in records, by their tokens. */
  readonly badges?: ReadonlyMap<string, Badge>
  /** Tokens of records that are only in memory, because the disk takes nothing. */
  readonly unstored?: ReadonlySet<string> | undefined
  /** Which records are pinned, and the parameters of the list that leads to pinning and back. */
  readonly list?: { readonly pinned: ReadonlySet<string>; readonly parameters: string }
}

const notStored: Badge = { text: 'not stored', tone: 'warning' }

/** Makes the rows of records. */
export function createRows(
  summaries: readonly ProfileSummary[],
  { badges, isGrouped = true, list, unstored }: RowOptions = {},
): RowView[] {
  const listed = isGrouped ? groupByParent(summaries) : summaries.map(summary => ({ summary, isBelowParent: false }))
  const longest = summaries.reduce((longest, { duration }) => Math.max(longest, duration), 0)
  return listed.map(({ summary, isBelowParent }) => {
    const { duration, token } = summary
    return {
      ...withBadge(withBadge(toSummaryView(summary), badges?.get(token)), unstored?.has(token) ? notStored : undefined),
      isBelowParent,
      share: (longest === 0 ? 0 : (100 * duration) / longest).toFixed(1),
      actions: list !== undefined && createActions(token, list),
    }
  })
}

function createActions(token: string, { parameters, pinned }: NonNullable<RowOptions['list']>): RowView['actions'] {
  const isPinned = pinned.has(token)
  return { isPinned, pinLink: listChangeLink(token, isPinned ? 'unpin' : 'pin', parameters) }
}
