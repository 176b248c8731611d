import { formatCount, formatDuration, shorten } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { countComplaints } from '../../subjects/console/read.ts'
import { countBadCalls } from '../../subjects/http/read.ts'
import { countFailedQueries } from '../../subjects/queries/read.ts'
import { type Badge, toSummaryView } from '../summary-view.ts'
import { findReason, writeReason } from './answer.ts'

const reasonLimit = 80

/**
 * The badges of the page of a profile: the reason of its failure, the counts of its summary and of its queries, and how many of them have
 * failed, in their colour; last, that of its findings.
 */
export function toHeadBadges(profile: Profile, findings: Badge | undefined): readonly Badge[] {
  const { summary } = profile
  const { exception, queries, queryTime, token } = summary
  const linkTo = (panel: string) => profileLink(token, panel)
  const reason = findReason(profile)
  const said = shorten(writeReason(reason, exception), reasonLimit)
  const badges = toSummaryView(summary).badges.filter(({ text }) => reason === undefined || text !== exception)
  const count = `${formatCount(queries, 'query', 'queries')} · ${formatDuration(queryTime)}`
  const failed = new Map([
    [linkTo('http'), countBadCalls(profile)],
    [linkTo('console'), countComplaints(profile)],
    ...(['database', 'cache'] as const).map(kind => [linkTo(kind), countFailedQueries(kind, profile)] as const),
  ])
  return [
    ...(reason === undefined ? [] : [{ text: said, tone: 'error' as const, link: linkTo(reason.panel) }]),
    ...[...badges, ...(queries === 0 ? [] : [{ text: count, tone: 'plain' as const, link: linkTo('database') }])].map(
      badge => {
        const { text, tone } = failed.get(badge.link ?? '') ?? { text: '', tone: badge.tone }
        return text === '' ? badge : { ...badge, text: `${badge.text}, ${text}`, tone }
      },
    ),
    ...(findings === undefined ? [] : [{ ...findings, link: linkTo('findings') }]),
  ]
}
