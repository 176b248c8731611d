import { findReason, writeReason } from '../insight/overview/answer.ts'
import { type Badge, toSummaryView } from '../insight/summary-view.ts'
import { shorten } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import type { SubjectView } from './subject-view.ts'

const reasonLimit = 80

/**
 * The badges of the page of a profile, which say what is bad and not how much there was: the
 * reason of its failure, its errors and warnings, what has failed of each kind of work by the
 * label of its panel, and its findings. The menu has the other counts. The sentence of the overview says the reason.
 */
export function toHeadBadges(
  profile: Profile,
  findings: Badge | undefined,
  views: readonly Pick<SubjectView, 'countBad' | 'label' | 'name'>[],
  isOverview = false,
): readonly Badge[] {
  const { summary } = profile
  const { exception, token } = summary
  const linkTo = (panel: string) => profileLink(token, panel)
  const reason = findReason(profile)
  const said = shorten(writeReason(reason, exception), reasonLimit)
  // One without a link is no count, such as "browser probe".
  const badges = toSummaryView(summary).badges.filter(
    ({ link, text, tone }) => (tone !== 'plain' || link === undefined) && (reason === undefined || text !== exception),
  )
  return [
    ...(reason === undefined || isOverview ? [] : [{ text: said, tone: 'error' as const, link: linkTo(reason.panel) }]),
    ...badges,
    ...views.flatMap(({ countBad, label, name }) => {
      const { anchor, text = '', tone = 'error' } = countBad?.(profile) ?? {}
      return text === ''
        ? []
        : [{ text: `${label}: ${text}`, tone, link: linkTo(name) + (anchor === undefined ? '' : `#${anchor}`) }]
    }),
    ...(findings === undefined ? [] : [{ ...findings, link: linkTo('findings') }]),
  ]
}
