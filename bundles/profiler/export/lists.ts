import type { ListRequest } from '../insight/list-request.ts'
import type { MailsReport, SentMail } from '../insight/mails.ts'
import { describeStatistics, type RouteReport, type RoutesReport, type RoutesRequest } from '../insight/routes.ts'
import { describeCount, type ListResult } from '../insight/search-list.ts'
import { nameOfWork, outcomes } from '../insight/summary-view.ts'
import { formatCount, formatDuration, formatMoment, formatShare } from '../profile/format.ts'
import { schemaVersion } from '../profile/json.ts'
import { listDataLink, listLink, mailsLink, profileDataLink, routesDataLink, routesLink } from '../profile/links.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { nameOfUnit, unitOf } from '../profile/units.ts'
import { workTime } from '../profile/work.ts'
import { joinBlocks, toList, toSpan, writeCounts } from './markdown-text.ts'

/** The JSON of a search result; `docs/reference/profile.md` describes it. */
interface PublicList {
  readonly schemaVersion: typeof schemaVersion
  /** The number of matching profiles on all pages. */
  readonly total: number
  /** The first page is 1. */
  readonly page: number
  readonly limit: number
  /** Sentences about parameters that cannot be read, or are corrected, and about what the result lacks. */
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
type ListedPage = Pick<ListResult, 'notes' | 'pinned' | 'profiles' | 'total' | 'unstored'>

/** Paths on the server. */
interface ListLinks {
  readonly self: string
  readonly html: string
  readonly markdown: string
  readonly previous: string | null
  readonly next: string | null
}

/** Creates the JSON of a search result. */
export function listToJson({ notes, pinned, profiles, total, unstored }: ListedPage, wanted: ListRequest): PublicList {
  const { page, parameters, query } = wanted
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
  return joinBlocks(parts)
}

function writeProfile({ isPinned, isStored, summary }: PublicListItem): string {
  const { duration, exception, operation, outcome, parent, route, status, time, token } = summary
  const { isExchange } = unitOf(summary)
  const facts = [
    `${toSpan(token)} ${isExchange ? status || 'no response' : outcomes[outcome].word} ${toSpan(nameOfUnit(summary))}`,
    formatDuration(duration),
    formatMoment(time),
    ...(operation === null ? [] : [toSpan(operation)]),
    ...(route === null ? [] : [`route ${toSpan(route)}`]),
    ...writeCounts(summary, 'duration'),
    ...(exception === null ? [] : [toSpan(exception)]),
    ...(outcome === 'complete' || !isExchange ? [] : [outcome]),
    ...writeCounts(summary, 'exception'),
    ...(parent === null ? [] : [`sub-request of ${toSpan(parent)}`]),
    ...(isPinned ? ['pinned'] : []),
    ...(isStored ? [] : ['not stored']),
  ]
  return facts.join('; ')
}

/** The JSON of the route statistics; `docs/reference/profile.md` describes it. */
interface PublicRoutes extends RoutesReport {
  readonly schemaVersion: typeof schemaVersion
  /** Sentences about parameters that are ignored or corrected. */
  readonly notes: readonly string[]
  readonly routes: readonly (RouteReport & { readonly link: string })[]
  /** Paths on the server. */
  readonly links: { readonly self: string; readonly html: string; readonly markdown: string }
}

/** Creates the JSON of the route statistics. Each route links to its slowest profile. */
export function routesToJson(
  { durations, requests, routes, startedAt }: RoutesReport,
  { notes, parameters }: RoutesRequest,
): PublicRoutes {
  return {
    schemaVersion,
    startedAt,
    requests,
    durations,
    notes,
    routes: routes.map(route => ({ ...route, link: profileDataLink(route.worst.token, 'json') })),
    links: {
      self: routesDataLink('json', parameters),
      html: routesLink(parameters),
      markdown: routesDataLink('md', parameters),
    },
  }
}

/** Writes the route statistics as Markdown, one list item per route. Recorded texts cannot become Markdown syntax. */
export function routesToMarkdown({ notes, requests, routes, startedAt }: PublicRoutes): string {
  const parts = [
    `# ${formatCount(requests, 'request')} of ${formatCount(routes.length, 'route')}`,
    toList(notes, notes.length, toSpan),
    `Last restart of the server: ${formatMoment(startedAt)}.`,
    toList(routes, routes.length, writeRoute),
  ]
  return joinBlocks(parts)
}

function writeRoute(report: RouteReport): string {
  const { changes, failed, slowest } = report
  const name = nameOfWork(report)
  const { clientErrors, errorRate, percentiles, queryCounts, requests, total } = describeStatistics(report)
  const { errorRate: errors, p50: median, p95: slow, queries: changed } = changes
  const facts = [
    `${name === '' ? 'no route' : toSpan(name)}: ${requests}`,
    `total ${total}`,
    percentiles,
    queryCounts,
    `${errorRate} errors`,
    clientErrors && `${formatCount(report.clientErrors, 'response')} with a status of 4xx`,
    `slowest ${slowest.map(({ duration, token }) => `${toSpan(token)} ${formatDuration(duration)}`).join(', ')}`,
    failed.length > 0 && `failed ${failed.map(({ status, token }) => `${toSpan(token)} ${status}`).join(', ')}`,
    median && `since the restart p50 ${formatDuration(median.before)} → ${formatDuration(median.since)}`,
    slow && `p95 ${formatDuration(slow.before)} → ${formatDuration(slow.since)}`,
    changed && changed.before + changed.since > 0 && `queries ${changed.before} → ${changed.since}`,
    errors && `errors ${formatShare(errors.before, 1)} → ${formatShare(errors.since, 1)}`,
  ]
  return facts.filter(Boolean).join('; ')
}

/** The JSON of the list of mails; `docs/reference/profile.md` describes it. */
interface PublicMails {
  readonly schemaVersion: typeof schemaVersion
  /** The number of mails of all stored profiles. */
  readonly total: number
  /** Sentences about what is missing. */
  readonly notes: readonly string[]
  readonly mails: readonly PublicMail[]
  /** Paths on the server. */
  readonly links: { readonly self: string; readonly html: string; readonly markdown: string }
}

/** A mail in the list. Its profile has its headers and its content. */
interface PublicMail extends Pick<SentMail['mail'], 'attachments' | 'error' | 'from' | 'index' | 'subject' | 'to'> {
  readonly token: string
  readonly link: string
  readonly outcome: string
  /** Milliseconds since 1970. */
  readonly time: number
  /** Milliseconds; `null` if it was not over. */
  readonly duration: number | null
  /** The work that has sent it: `POST http://127.0.0.1/orders`. */
  readonly sender: string
}

/** Creates the JSON of the list of mails. */
export function mailsToJson({ mails, notes, total }: MailsReport): PublicMails {
  return {
    schemaVersion,
    total,
    notes,
    mails: mails.map(({ mail, sender }) => {
      const { attachments, end, error, from, index, outcome, start, subject, to } = mail
      return {
        token: sender.token,
        link: profileDataLink(sender.token, 'json', 'mails'),
        ...{ index, subject, from, to, attachments, error },
        outcome: outcome.text,
        time: sender.time + start,
        duration: end === undefined ? null : workTime(mail),
        sender: nameOfUnit(sender),
      }
    }),
    links: { self: `${mailsLink}.json`, html: mailsLink, markdown: `${mailsLink}.md` },
  }
}

/** Writes the list of mails as Markdown. Recorded texts cannot become Markdown syntax. */
export function mailsToMarkdown({ mails, notes, total }: PublicMails): string {
  const lines = toList(mails, mails.length, ({ duration, error, outcome, sender, subject, time, to, token }) =>
    [
      `${toSpan(token)} ${toSpan(subject)} to ${toSpan(to.join(', '))}: ${outcome}`,
      ...(error === '' ? [] : [toSpan(error)]),
      ...(duration === null ? [] : [formatDuration(duration)]),
      formatMoment(time),
      `by ${toSpan(sender)}`,
    ].join('; '),
  )
  return joinBlocks([`# ${formatCount(total, 'mail')}`, toList(notes, notes.length, toSpan), lines])
}
