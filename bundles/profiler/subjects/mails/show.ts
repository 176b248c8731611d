import { mask } from '../../../../lib/redact/secret-names.ts'
import { toBlock, toList, toSpan, writeCaller, writePairs, writeRest } from '../../export/markdown-text.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { isPage, viewContent } from '../../panels/parts.ts'
import { entryLimit, type SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, itemRowLimit, limitRows, row } from '../../panels/toolbar-items.ts'
import { writeContent } from '../../profile/content.ts'
import { formatCount, formatDuration, formatNumber, formatSize, formatText } from '../../profile/format.ts'
import { mailLink, profileLink } from '../../profile/links.ts'
import { countFor, formatWorkTime } from '../../profile/work.ts'
import { countBadMails, mailWork, readMails, type StoredMail } from './read.ts'

/** The mails: what each one looked like, and how its sending ended. */
export const mailsView: SubjectView = {
  name: 'mails',
  label: 'Mails',
  template: 'profiler/panels/mails',
  hasContent: ({ profile }) => mailWork.count(profile) > 0,

  countBad: countBadMails,

  badge: ({ profile }) => countFor(countBadMails(profile), mailWork.count(profile)),

  toView({ profile }, { editor }) {
    const { mails, omitted } = readMails(profile)
    const { token } = profile.summary
    return {
      mails: mails.map(mail => ({ ...viewMail(mail, token, editor), isOpen: mails.length === 1 })),
      omitted: omitted === 0 ? '' : formatCount(omitted, 'more mail'),
    }
  },

  nothing: 'No mail was sent.',

  toMarkdown({ profile }, limit) {
    const { mails, omitted } = readMails(profile)
    if (mails.length === 0) return []
    const shown = mails.slice(0, Math.max(1, Math.ceil(limit / 5)))
    return [
      '## Mails',
      toList(mails, limit, writeMail, ({ error }) => (error === '' ? 1 : 0)),
      ...writeRest(omitted),
      ...shown.flatMap(mail => writeContents(mail, limit)),
    ]
  },

  toItems({ editor, profile, summary }) {
    const { mails } = readMails(profile)
    const count = mailWork.count(profile)
    if (count === 0) return []
    const bad = countBadMails(profile)
    const link = profileLink(summary.token, 'mails')
    const ranked = mails.toSorted((one, other) => Number(one.error === '') - Number(other.error === ''))
    const rows = ranked.slice(0, itemRowLimit).map(mail =>
      row(mail.outcome.text, cutText(mail.subject || (mail.to[0] ?? '')), {
        link: `${link}#mail-${mail.index}`,
        tone: mail.error === '' ? 'plain' : 'error',
        place: editor.viewCaller(mail.caller),
      }),
    )
    return [
      item(mailsView, {
        order: 135,
        text: [formatCount(count, 'mail'), bad.text].filter(Boolean).join(', '),
        tone: bad.count === 0 ? 'plain' : bad.tone,
        link,
        rows: limitRows(rows, link, count - rows.length),
      }),
    ]
  },

  toEntries: profile =>
    readMails(profile)
      .mails.slice(0, entryLimit)
      .map(({ index, subject, to }) => ({
        group: 'Mail',
        label: subject || '(no subject)',
        hint: to.join(', '),
        anchor: `mail-${index}`,
      })),
}

/** The lines about a mail; those that are not known are left out. */
function listFacts(mail: StoredMail): readonly (readonly [name: string, value: string])[] {
  const { bcc = [], cc = [], code = '', envelope, messageId = '', rejected = [], replyTo = [], to } = mail
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['From', mail.from],
    ['To', to.join(', ')],
    ['Cc', cc.join(', ')],
    ['Bcc', bcc.join(', ')],
    ['Reply-To', replyTo.join(', ')],
    ['Error', [mail.error, code === '' ? '' : `(${code})`].filter(part => part !== '').join(' ')],
    ['Answer', mail.response ?? ''],
    ['Refused', rejected.join(', ')],
    ['Sent by', mail.transport],
    ['Envelope', envelope === undefined ? '' : `${envelope.from} → ${envelope.to.join(', ')}`],
    ['Message-ID', messageId],
  ]
  return facts.filter(([, value]) => value !== '')
}

/** What is missing of a mail, or differs from what was sent, in sentences. */
function listNotes({ html, isKept, text, unread = [] }: StoredMail): string[] {
  const isMasked = [text, html].some(content => content !== undefined && writeContent(content).includes(mask))
  return [
    ...(isKept ? ['It was not sent, because PROFILER_MAILS is keep. The application got a success.'] : []),
    ...(isMasked ? ['Secrets are masked (******), also in links: a link with a token does not work here.'] : []),
    ...unread.map(
      part => `The ${part} was a file or a stream, which is read while the mail is sent: it is not recorded.`,
    ),
    ...(html?.isCut ? ['The HTML is cut: the end of the preview is missing.'] : []),
  ]
}

/** The line of a mail in a list. */
export function toMailRow(mail: StoredMail) {
  const { attachments, error, outcome, subject, to } = mail
  return {
    subject: subject || '(no subject)',
    to: to.join(', '),
    error,
    tone: ['error', 'warning'].includes(outcome.level) ? outcome.level : '',
    mark: { text: outcome.text, tone: outcome.level },
    facts: [
      { text: attachments.length === 0 ? '' : formatCount(attachments.length, 'file'), isMinor: true },
      { text: formatWorkTime(mail) },
    ],
  }
}

function viewMail(mail: StoredMail, token: string, editor: EditorLinks) {
  const { attachments, caller, headers, html, index, start, text } = mail
  return {
    ...toMailRow(mail),
    id: `mail-${index}`,
    lead: formatNumber(index + 1),
    where: editor.nameCaller(caller),
    at: formatDuration(start),
    definitions: listFacts(mail).map(([name, value]) => ({ name, value })),
    notes: listNotes(mail),
    caller: editor.view(caller),
    previewLink: html !== undefined && isPage(html) ? mailLink(token, index) : '',
    html: html !== undefined && viewContent(html, `mail-html-${index}`, '', contentLimit),
    text: text !== undefined && viewContent(text, `mail-text-${index}`, '', contentLimit),
    headers: headers.map(([name, value]) => `${name}: ${formatText(value)}`).join('\n'),
    attachments: attachments.map(viewAttachment),
  }
}

/** Characters of a text on a page: a page has up to 50 mails. */
const contentLimit = 4_000

function viewAttachment({ name, size, type }: StoredMail['attachments'][number]) {
  return { name, facts: [type, formatSize(size)].filter(fact => fact !== '').join(', ') }
}

function writeMail(mail: StoredMail): string {
  const { attachments, caller, end, index, outcome, subject, to } = mail
  const time = end === undefined ? '' : `, ${formatWorkTime(mail)}`
  const files = attachments.map(attachment => {
    const { facts, name } = viewAttachment(attachment)
    return `${toSpan(name)}${facts === '' ? '' : ` (${toSpan(facts)})`}`
  })
  return [
    `${formatNumber(index + 1)}. ${toSpan(subject)} to ${toSpan(to.join(', '))}: ${outcome.text}${time}`,
    mail.error && toSpan(mail.error),
    files.length === 0 ? '' : `attached: ${files.join(', ')}`,
    caller.file === undefined ? '' : writeCaller(caller),
  ]
    .filter(part => part !== '')
    .join('; ')
}

function writeContents(mail: StoredMail, limit: number): string[] {
  const { headers, html, index, text } = mail
  const facts = listFacts(mail).map(([name, value]) => `- ${name}: ${toSpan(value)}`)
  return [
    `### Mail ${formatNumber(index + 1)}`,
    [...facts, ...listNotes(mail).map(note => `- ${note}`)].join('\n'),
    ...writePairs('Headers', headers, limit),
    ...(text === undefined ? [] : [toBlock(writeContent(text) || (text.note ?? ''))]),
    ...(html === undefined ? [] : [toBlock(writeContent(html) || (html.note ?? ''), 'html')]),
  ]
}
