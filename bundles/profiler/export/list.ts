import type { ListRequest, ListResult } from '../insight/list-request.ts'
import { formatDuration } from '../profile/format.ts'
import { formatMoment } from '../profile/format-value.ts'
import { listDataLink, listLink, recordDataLink } from '../profile/links.ts'
import { type ProfileSummary, schemaVersion } from '../profile/profile.ts'
import { toList, toSpan } from './markdown-text.ts'

/** What a search finds, as programs read it; `docs/reference/profile.md` describes it. */
interface PublicList {
  readonly schemaVersion: typeof schemaVersion
  /** How many match, on all pages together. */
  readonly total: number
  /** From 1. */
  readonly page: number
  readonly limit: number
  /** What was asked for and not understood, as sentences. */
  readonly notes: readonly string[]
  readonly records: readonly PublicListItem[]
  readonly links: ListLinks
}

/** One of the records that were found. */
interface PublicListItem {
  readonly token: string
  readonly link: string
  readonly isPinned: boolean
  /** False while it is only in memory, because the disk takes nothing. */
  readonly isStored: boolean
  readonly summary: ProfileSummary
}

/** Paths below the origin of the server. */
interface ListLinks {
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

/** Writes what a search has found as Markdown: an item a record. Nothing that was recorded can become structure. */
export function listToMarkdown({ links, notes, records, total }: PublicList): string {
  const parts = [
    `# ${records.length.toLocaleString('en')} of ${total.toLocaleString('en')} profiles`,
    toList(notes, notes.length, toSpan),
    toList(records, records.length, writeProfile),
    ...(links.next === null ? [] : [`More: ${toSpan(links.next.replace('.json', '.md'))}`]),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function writeProfile({ isPinned, isStored, summary }: PublicListItem): string {
  const { duration, errors, exception, method, outcome, parent, route, status, time, token, url, warnings } = summary
  const facts = [
    `${toSpan(token)} ${status === 0 ? 'no response' : status} ${toSpan(`${method} ${url}`)}`,
    formatDuration(duration),
    formatMoment(time),
    ...(route === null ? [] : [`route ${toSpan(route)}`]),
    ...(exception === null ? [] : [toSpan(exception)]),
    ...(outcome === 'complete' ? [] : [outcome]),
    ...(errors === 0 ? [] : [`errors: ${errors}`]),
    ...(warnings === 0 ? [] : [`warnings: ${warnings}`]),
    ...(parent === null ? [] : [`sub-request of ${toSpan(parent)}`]),
    ...(isPinned ? ['pinned'] : []),
    ...(isStored ? [] : ['not stored']),
  ]
  return facts.join('; ')
}
