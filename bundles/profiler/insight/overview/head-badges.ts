import { shorten } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { countComplaints } from '../../subjects/console/read.ts'
import { countBadCalls } from '../../subjects/http/read.ts'
import { countBadMails } from '../../subjects/mails/read.ts'
import { countFailedQueries } from '../../subjects/queries/read.ts'
import { type Badge, toSummaryView } from '../summary-view.ts'
import { findReason, writeReason } from './answer.ts'

const reasonLimit = 80

/**
 * The badges of the page of a profile, which say what is bad and not how much there was: the
 * reason of its failure, its errors and warnings, what has failed of each kind of work by the
 * label of its panel, and its findings. The menu has the other counts.
 */
export function toHeadBadges(profile: Profile, findings: Badge | undefined): readonly Badge[] {
  const { summary } = profile
  const { exception, token } = summary
  const linkTo = (panel: string) => profileLink(token, panel)
  const reason = findReason(profile)
  const said = shorten(writeReason(reason, exception), reasonLimit)
  // One without a link is no count, such as "browser probe".
  const badges = toSummaryView(summary).badges.filter(
    ({ link, text, tone }) => (tone !== 'plain' || link === undefined) && (reason === undefined || text !== exception),
  )
  const works = [
    { panel: 'database', label: 'Database', bad: countFailedQueries('database', profile) },
    { panel: 'cache', label: 'Cache', bad: countFailedQueries('cache', profile) },
    { panel: 'http', label: 'HTTP Client', bad: countBadCalls(profile) },
    { panel: 'mails', label: 'Mails', bad: countBadMails(profile) },
    { panel: 'console', label: 'Console', bad: countComplaints(profile) },
  ]
  return [
    ...(reason === undefined ? [] : [{ text: said, tone: 'error' as const, link: linkTo(reason.panel) }]),
    ...badges,
    ...works.flatMap(({ bad: { text, tone }, label, panel }) =>
      text === '' ? [] : [{ text: `${label}: ${text}`, tone, link: linkTo(panel) }],
    ),
    ...(findings === undefined ? [] : [{ ...findings, link: linkTo('findings') }]),
  ]
}
