import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { mailsToJson, mailsToMarkdown } from '../../export/lists.ts'
import { gatherMails, type SentMail } from '../../insight/mails.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import { isPage } from '../../panels/parts.ts'
import { writeContent } from '../../profile/content.ts'
import { formatCount, formatTime, shorten } from '../../profile/format.ts'
import { mailLink, mailsLink, profileLink } from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import { readMails } from '../../subjects/mails/read.ts'
import { toMailRow } from '../../subjects/mails/show.ts'
import { alternatesOf, type PageForm, type ProfilerApplication, protect, renderPage, respondData } from '../page.ts'
import { type ListServices, renderMissing } from './list-page.ts'

/** Renders the mails of all profiles, the newest first: as a page, or as data. */
export async function renderMails(
  form: PageForm,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'storage' | 'view'>,
): Promise<Response> {
  const report = await gatherMails(app.storage)
  if (form !== 'html') {
    const mails = mailsToJson(report)
    return respondData(form, mails, () => mailsToMarkdown(mails))
  }
  const model = {
    title: formatCount(report.total, 'mail'),
    notes: report.notes,
    rows: report.mails.map(viewMail),
    alternates: alternatesOf(form => `${mailsLink}.${form}`),
  }
  return renderPage('profiler/mails', model, request, app)
}

/** Characters of the text of a mail without a preview. Its profile has all of it. */
const textLimit = 1_000

function viewMail({ mail, sender }: SentMail) {
  const { from, html, index, start, text } = mail
  return {
    ...toMailRow(mail),
    link: `${profileLink(sender.token, 'mails')}#mail-${index}`,
    previewLink: html !== undefined && isPage(html) ? mailLink(sender.token, index) : '',
    text: text === undefined ? '' : shorten(writeContent(text), textLimit),
    from,
    at: formatTime(sender.time + start),
    where: toSummaryView(sender).title,
    senderLink: profileLink(sender.token),
  }
}

/**
 * The policy of a mail: an origin without a name, no script, no form, and nothing that is loaded,
 * as in a careful mail program. Only pages of the profiler show it in a frame.
 */
const mailPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

/** Responds with the HTML of a mail. */
export async function renderMail(
  token: string,
  index: number,
  request: Request,
  app: ListServices & { readonly profiler: Pick<Profiler, 'whenStored'> },
): Promise<Response> {
  await app.profiler.whenStored(token)
  const found = await app.storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const html = readMails(found.profile).mails[index]?.html
  if (html === undefined || !isPage(html)) {
    const lead = `The profile "${token}" has no HTML of such a mail.`
    return renderPage('profiler/compare-none', { title: 'No mail', lead }, request, app, 404)
  }
  const response = protect(Response.html(html.text ?? ''))
  response.headers.set('content-security-policy', mailPolicy)
  response.headers.set('referrer-policy', 'no-referrer')
  // Not even the names of other servers are asked for.
  response.headers.set('x-dns-prefetch-control', 'off')
  return response
}
