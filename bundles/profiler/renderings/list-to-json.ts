import { listDataLink, listLink, recordDataLink } from '../links.ts'
import type { ListRequest } from '../pages/parse-list-request.ts'
import type { ListResult } from '../pages/search-list.ts'
import { type ProfileSummary, schemaVersion } from '../profile.ts'

/** What a search finds, as programs read it; `docs/reference/profile.md` describes it. */
export interface PublicList {
  readonly schemaVersion: typeof schemaVersion
  /** How many match, on all pages together. */
  readonly total: number
  /** From 1. */
  readonly page: number
  readonly limit: number
  /** What was asked for and not understood, as sentences. */
  readonly notes: readonly string[]
  readonly records: readonly ListedRecord[]
  readonly links: ListLinks
}

/** One of the records that were found. */
export interface ListedRecord {
  readonly token: string
  readonly link: string
  readonly isPinned: boolean
  /** False while it is only in memory, because the disk takes nothing. */
  readonly isStored: boolean
  readonly summary: ProfileSummary
}

/** Paths below the origin of the server. */
export interface ListLinks {
  readonly self: string
  readonly html: string
  readonly markdown: string
  readonly previous: string | null
  readonly next: string | null
}

/** Makes the public shape of what a search has found. */
export function listToJson({ pinned, summaries, total, unstored }: ListResult, wanted: ListRequest): PublicList {
  const { notes, page, parameters, query } = wanted
  const turn = (page: number) => listDataLink('json', { ...parameters, page: String(page) })
  const hasNext = summaries.length > 0 && query.offset + summaries.length < total
  return {
    schemaVersion,
    total,
    page,
    limit: query.limit,
    notes,
    records: summaries.map(summary => ({
      token: summary.token,
      link: recordDataLink(summary.token, 'json'),
      isPinned: pinned.has(summary.token),
      isStored: !unstored?.has(summary.token),
      summary,
    })),
    links: {
      self: listDataLink('json', parameters),
      html: listLink(parameters),
      markdown: listDataLink('md', parameters),
      previous: page > 1 ? turn(page - 1) : null,
      next: hasNext ? turn(page + 1) : null,
    },
  }
}
