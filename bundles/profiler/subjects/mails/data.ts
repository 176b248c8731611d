import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import { contentSchema } from '../../profile/content.ts'
import { check, count, list, maybe, moreWorkSchema, number, pairs, text, texts } from '../../profile/schema.ts'

/** The mails that were sent. */
export type MailsData = v.InferOutput<typeof mailsSchema>

/** A mail as it is stored: masked, and within bounds. */
export type MailData = MailsData['mails'][number]

export const mailsSchema = v.object({
  /** In the order in which they began. */
  mails: list(
    v.object({
      /** Milliseconds since the start of the request. */
      start: number,
      /** When the server had taken it, or sending had failed. Absent if it was not over. */
      end: maybe(check.number),
      /** What has sent it, and the server. */
      transport: text,
      from: text,
      to: texts,
      cc: maybe(texts),
      bcc: maybe(texts),
      replyTo: maybe(texts),
      subject: text,
      /** Further headers. */
      headers: pairs,
      text: maybe(contentSchema),
      html: maybe(contentSchema),
      /** Parts that were files or streams. */
      unread: maybe(list(v.picklist(['text', 'HTML']))),
      attachments: list(v.object({ name: text, type: text, size: maybe(check.count) })),
      /** The addresses for the server. */
      envelope: maybe(v.object({ from: text, to: texts })),
      messageId: maybe(check.text),
      /** The answer of the server. */
      response: maybe(check.text),
      error: maybe(check.text),
      /** Its code, such as `EENVELOPE`. */
      code: maybe(check.text),
      /** The recipients that the server has refused. */
      rejected: maybe(texts),
      /** Whether it was not sent, because `PROFILER_MAILS` is `keep`. */
      isKept: maybe(v.literal(true)),
      /** The innermost function of the application that sent it. */
      caller: maybe(caller),
    }),
  ),
  /** How many were only counted because there were too many. */
  omitted: count,
  /** Their times. */
  more: maybe(moreWorkSchema),
})
