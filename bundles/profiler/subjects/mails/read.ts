import { formatNumber, shorten } from '../../profile/format.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import {
  type BadWork,
  createWork,
  type LocatedWork,
  locateWork,
  readMoreWork,
  readStops,
  type WorkKind,
} from '../../profile/work.ts'
import type { MailData } from './data.ts'

/** A mail of a profile. Times are in milliseconds from the start of the request. */
export interface StoredMail extends LocatedWork<MailData> {
  /** Empty when it did not fail. */
  readonly error: string
  readonly outcome: { readonly text: string; readonly level: 'ok' | 'plain' | 'warning' | 'error' }
}

/** Reads the mails of a profile: empty lists if none was sent. */
export const readMails = oncePerProfile(collectors => {
  const { mails = [], more, omitted = 0 } = collectors.mails ?? {}
  const stops = readStops({ collectors })
  return {
    mails: locateWork(mails, stops).map(
      (mail): StoredMail => ({ ...mail, error: mail.error ?? '', outcome: outcomeOf(mail) }),
    ),
    omitted,
    more: readMoreWork(more, stops),
  }
})

function outcomeOf({ end, error, isKept, rejected = [] }: LocatedWork<MailData>): StoredMail['outcome'] {
  if (error !== undefined) return { text: 'failed', level: 'error' }
  if (end === undefined) return { text: 'unfinished', level: 'plain' }
  if (isKept) return { text: 'not sent', level: 'plain' }
  if (rejected.length > 0) return { text: `${formatNumber(rejected.length)} refused`, level: 'warning' }
  return { text: 'sent', level: 'ok' }
}

/** How many mails have failed; empty without one. */
export function countBadMails(profile: Profile): BadWork {
  const { mails, more } = readMails(profile)
  const count = mails.filter(({ error }) => error !== '').length + more.failed
  return { text: count === 0 ? '' : `${formatNumber(count)} failed`, count, tone: 'error' }
}

/** Mails as work: the code that sends one waits for the server. */
export const mailWork: Required<WorkKind> = {
  panel: 'mails',
  category: 'mail',
  label: 'Mails',
  nouns: ['mail', 'mails'],
  list: profile =>
    readMails(profile).mails.map(mail => {
      const { caller, end, error, index, outcome, start, stopped } = mail
      return createWork({
        name: nameOfMail(mail),
        id: `mail-${index}`,
        start,
        end,
        stopped,
        hasFailed: error !== '',
        note: outcome.text,
        caller,
      })
    }),
  more: profile => readMails(profile).more,
  count(profile) {
    const { mails, omitted } = readMails(profile)
    return mails.length + omitted
  },
}

const nameLength = 120

/** Names a mail by its subject; without one, by its recipient. */
export function nameOfMail({ subject, to }: Pick<MailData, 'subject' | 'to'>): string {
  return shorten(subject === '' ? `to ${to[0] ?? ''}` : subject, nameLength)
}

/** Whether a mail went on after a time. */
export function isLateMail({ end = Infinity }: Pick<MailData, 'end'>, since: number): boolean {
  return end > since
}
