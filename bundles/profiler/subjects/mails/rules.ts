import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { describePlaces } from '../../insight/findings/finding.ts'
import { formatCount, formatDuration, formatShare } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import { coveredWorkTime, readStops } from '../../profile/work.ts'
import { isLateMail, nameOfMail, readMails, type StoredMail } from './read.ts'

/** Limit of `slow-mail`: milliseconds of a request in which it sends mails. A person notices a tenth of a second. */
const leastTime = 100

/**
 * Limit of `slow-mail`: of the time of the request, as a share. With less, another part is the
 * answer to why it is slow.
 */
const leastShare = 0.5

/** Finds requests that mostly wait until their mails are sent. A job may do that. */
export const slowMailRule: FindingRule<Profile> = {
  name: 'slow-mail',
  title: 'Client waits for a mail',
  find(profile) {
    const { duration, outcome } = profile.summary
    if (!unitOf(profile.summary).isExchange || outcome !== 'complete') return []
    const mails = listAwaited(profile)
    const [first] = mails
    const time = timeOf(mails, profile)
    if (first === undefined || time < leastTime || time < leastShare * duration) return []
    return [
      {
        severity: 'warning',
        problem: `The response waited ${formatDuration(time)} for ${formatCount(mails.length, 'mail')}, ${formatShare(time, duration)} of its time: {subject}${mails.length > 1 ? ' and others' : ''}.`,
        ...describePlaces(
          mails,
          { subject: nameOfMail(first) },
          'Give the mail to a queue of jobs, and answer at once; without a queue, a slow or failing mail server makes this request slow',
        ),
        place: { panel: 'mails', anchor: `mail-${first.index}` },
        evidence: { count: mails.length, time },
      },
    ]
  },
  measure: { unit: 'ms', read: (_, profile) => timeOf(listAwaited(profile), profile) },
}

/** Finds mails whose HTML has a link that only a browser on a page of the site could complete. */
export const hostlessLinkRule: FindingRule<Profile> = {
  name: 'hostless-link',
  title: 'Link of a mail without a host',
  find(profile) {
    const found = readMails(profile).mails.flatMap(mail => {
      const link = findHostlessLink(mail.html?.text ?? '')
      return link === undefined ? [] : { ...mail, link }
    })
    const [first] = found
    if (first === undefined) return []
    return [
      {
        severity: 'warning',
        problem: `${formatCount(found.length, 'mail')} with a link that mail programs cannot open, because it has no host: {link}.`,
        ...describePlaces(
          found,
          { link: first.link },
          'Write scheme and host, too, such as by {{url}} in a template, or urls.generate() with "absolute"',
        ),
        place: { panel: 'mails', anchor: `mail-${first.index}` },
        evidence: { count: found.length },
      },
    ]
  },
}

/** A link or an image of HTML whose address is a path. */
const hostless = /<(?:a|img)\s(?:[^<>]*?\s)?(?:href|src)\s*=\s*["']?(\/(?!\/)[^\s"'<>]*)/i

function findHostlessLink(html: string): string | undefined {
  const [begin = '', ...others] = html.split('<!--')
  const rest = others.map(part => part.split('-->', 2)[1] ?? '')
  return /<base\s/i.test(html) ? undefined : hostless.exec([begin, ...rest].join(''))?.[1]
}

/** The mails that ended before the response was sent. Others are not awaited. */
function listAwaited(profile: Profile): StoredMail[] {
  const { since = Infinity } = profile.collectors.late ?? {}
  return readMails(profile).mails.filter(mail => mail.end !== undefined && !isLateMail(mail, since))
}

function timeOf(mails: readonly StoredMail[], profile: Profile): number {
  return coveredWorkTime(mails, readStops(profile))
}
