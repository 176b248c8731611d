import type { ListRequest } from '../insight/list-request.ts'
import { describeCount, type ListResult } from '../insight/search-list.ts'
import { formatDuration } from '../profile/format.ts'
import { formatMoment } from '../profile/format-value.ts'
import { listDataLink, listLink, profileDataLink } from '../profile/links.ts'
import { type ProfileSummary, schemaVersion } from '../profile/profile.ts'
import { toList, toSpan, writeCounts } from './markdown-text.ts'

/** The JSON of a search result; `docs/reference/profile.md` describes it. */
interface PublicList {
  readonly schemaVersion: typeof schemaVersion
  /** The number of matching profiles on all pages. */
  readonly total: number
  /** The first page is 1. */
  readonly page: number
  readonly limit: number
  /** Sentences about parameters that cannot be read, or are corrected. */
  readonly notes: readonly string[]
  readonly records: readonly PublicListItem[]
  readonly links: ListLinks
}

/** A profile in a search result. */
interface PublicListItem {
  readonly token: string
  readonly link: string
  readonly isPinned: boolean
  /** `false` while the profile is only in memory, because writing to the disk fails. */
  readonly isStored: boolean
  readonly summary: ProfileSummary
}

/** The part of a search result that is public. */
export type ListedPage = Pick<ListResult, 'pinned' | 'profiles' | 'total' | 'unstored'>

/** Paths on the server. */
interface ListLinks {
  readonly self: string
  readonly html: string
  readonly markdown: string
  readonly previous: string | null
  readonly next: string | null
}

/** Creates the JSON of a search result. */
export function listToJson({ pinned, profiles, total, unstored }: ListedPage, wanted: ListRequest): PublicList {
  const { notes, page, parameters, query } = wanted
  const turn = (page: number) => listDataLink('json', { ...parameters, page: String(page) })
  const hasNext = profiles.length > 0 && query.offset + profiles.length < total
  return {
    schemaVersion,
    total,
    page,
    limit: query.limit,
    notes,
    records: profiles.map(({ summary }) => ({
      token: summary.token,
      link: profileDataLink(summary.token, 'json'),
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

/** Writes a search result as Markdown, one list item per profile. Recorded texts cannot become Markdown syntax. */
export function listToMarkdown({ links, notes, records, total }: PublicList): string {
  const { found, inAll } = describeCount(records.length, total)
  const parts = [
    `# ${found}${inAll && ` · ${inAll}`}`,
    toList(notes, notes.length, toSpan),
    toList(records, records.length, writeProfile),
    ...(links.next === null ? [] : [`More: ${toSpan(links.next.replace('.json', '.md'))}`]),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function writeProfile({ isPinned, isStored, summary }: PublicListItem): string {
  const { duration, exception, method, outcome, parent, route, status, time, token, url } = summary
  const facts = [
    `${toSpan(token)} ${status === 0 ? 'no response' : status} ${toSpan(`${method} ${url}`)}`,
    formatDuration(duration),
    formatMoment(time),
    ...(route === null ? [] : [`route ${toSpan(route)}`]),
    ...writeCounts(summary, 'duration'),
    ...(exception === null ? [] : [toSpan(exception)]),
    ...(outcome === 'complete' ? [] : [outcome]),
    ...writeCounts(summary, 'exception'),
    ...(parent === null ? [] : [`sub-request of ${toSpan(parent)}`]),
    ...(isPinned ? ['pinned'] : []),
    ...(isStored ? [] : ['not stored']),
  ]
  return facts.join('; ')
}
