import type { ListRequest } from '../insight/list-request.ts'
import type { MailsReport } from '../insight/mails.ts'
import { describeStatistics, type RouteReport, type RoutesReport, type RoutesRequest } from '../insight/routes.ts'
import { describeCount, type ListResult } from '../insight/search-list.ts'
import { nameOfWork, outcomes } from '../insight/summary-view.ts'
import { formatCount, formatDuration, formatMoment, formatShare } from '../profile/format.ts'
import { schemaVersion } from '../profile/json.ts'
import { listDataLink, listLink, mailsLink, profileDataLink, routesDataLink, routesLink } from '../profile/links.ts'
import { nameOfUnit, unitOf } from '../profile/units.ts'
import { workTime } from '../profile/work.ts'
import { joinBlocks, toList, toSpan, writeCounts } from './markdown-text.ts'

/** The part of a search result that is public. */
type ListedPage = Pick<ListResult, 'notes' | 'pinned' | 'profiles' | 'total' | 'unstored'>

/** Creates the JSON of a search result. */
export function listToJson({ notes, pinned, profiles, total, unstored }: ListedPage, wanted: ListRequest) {
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
export function listToMarkdown({ links, notes, records, total }: ReturnType<typeof listToJson>): string {
  const { found, inAll } = describeCount(records.length, total)
  const parts = [
    `# ${found}${inAll && ` · ${inAll}`}`,
    toList(notes, notes.length, toSpan),
    toList(records, records.length, writeProfile),
    ...(links.next === null ? [] : [`More: ${toSpan(links.next.replace('.json', '.md'))}`]),
  ]
  return joinBlocks(parts)
}

function writeProfile({ isPinned, isStored, summary }: ReturnType<typeof listToJson>['records'][number]): string {
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

/** Creates the JSON of the route statistics. Each route links to its slowest profile. */
export function routesToJson(
  { durations, requests, routes, startedAt }: RoutesReport,
  { notes, parameters }: RoutesRequest,
) {
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
export function routesToMarkdown({ notes, requests, routes, startedAt }: ReturnType<typeof routesToJson>): string {
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

/** Creates the JSON of the list of mails. */
export function mailsToJson({ mails, notes, total }: MailsReport) {
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
export function mailsToMarkdown({ mails, notes, total }: ReturnType<typeof mailsToJson>): string {
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
