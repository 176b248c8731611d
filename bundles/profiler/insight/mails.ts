import { formatNumber } from '../profile/format.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { type ProfileStorage, readLimit } from '../store/profile-storage.ts'
import { readMails, type StoredMail } from '../subjects/mails/read.ts'
import { readProfiles } from './called.ts'

/** A mail, and the profile of the work that has sent it. */
export interface SentMail {
  readonly mail: StoredMail
  readonly sender: ProfileSummary
}

/** The mails of stored profiles, the newest first. */
export interface MailsReport {
  readonly mails: readonly SentMail[]
  /** The number of mails of all stored profiles. */
  readonly total: number
  /** Sentences about what is missing. */
  readonly notes: readonly string[]
}

/** Profiles whose mails are read: the newest. */
const profileLimit = 200

/** Gathers the mails of the newest profiles that have some. */
export async function gatherMails(storage: Pick<ProfileStorage, 'find' | 'search'>): Promise<MailsReport> {
  const { summaries } = await storage.search({ limit: readLimit })
  const senders = summaries.filter(({ mails = 0 }) => mails > 0)
  const read = await readProfiles(storage, senders.slice(0, profileLimit))
  const mails = read.flatMap(profile => readMails(profile).mails.map(mail => ({ mail, sender: profile.summary })))
  const total = senders.reduce((sum, { mails = 0 }) => sum + mails, 0)
  const timeOf = ({ mail, sender }: SentMail) => sender.time + mail.start
  return {
    mails: mails.sort((one, other) => timeOf(other) - timeOf(one)),
    total,
    notes:
      mails.length < total
        ? [`${formatNumber(mails.length)} of ${formatNumber(total)} mails are listed: the newest that have details.`]
        : [],
  }
}
