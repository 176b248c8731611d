import { checkArguments, checkOptions } from '../../lib/errors/arguments.ts'
import { guard } from '../../lib/guard.ts'
import { addTo, findFirst } from '../../lib/share.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import { runUnit } from './units.ts'

/** A mail. Nothing in it is masked: its receiver masks it. */
export interface Mail {
  /** An address, with or without a name. */
  readonly from?: string | undefined
  /** The addresses of the recipients. */
  readonly to?: readonly string[] | undefined
  /** The addresses of the recipients of a copy. */
  readonly cc?: readonly string[] | undefined
  /** The addresses of recipients whom others do not see. */
  readonly bcc?: readonly string[] | undefined
  /** The addresses for answers. */
  readonly replyTo?: readonly string[] | undefined
  /** The subject, decoded. */
  readonly subject?: string | undefined
  /** Further headers. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
  /** The content as plain text. */
  readonly text?: string | undefined
  /** The content as HTML. */
  readonly html?: string | undefined
  /** Parts that are files or streams, which are read while the mail is sent. */
  readonly unread?: readonly ('text' | 'HTML')[] | undefined
  /** The files of the mail. */
  readonly attachments?: readonly MailAttachment[] | undefined
  /** The addresses for the server, if they are known. */
  readonly envelope?: { readonly from: string; readonly to: readonly string[] } | undefined
  /** What sends it, such as `SMTP mail.example.org:587`. */
  readonly transport?: string | undefined
}

/** An attachment of a mail, without its content. */
export interface MailAttachment {
  /** The name of the file. */
  readonly name: string
  /** Its media type. */
  readonly type?: string | undefined
  /** Bytes, if they are known. */
  readonly size?: number | undefined
}

/** How sending has ended: without `error`, the server has taken the mail, or it was kept. */
export interface MailEnd {
  readonly error?: unknown
  /** The answer of the server. */
  readonly response?: string | undefined
  readonly messageId?: string | undefined
  /** The recipients that the server has refused. */
  readonly rejected?: readonly string[] | undefined
  /** Whether it was not sent, because mails are kept. */
  readonly isKept?: boolean | undefined
}

/** Receives how the sending of a mail goes on. */
export interface MailRun {
  /** The mail as it is sent, if it was not complete at the beginning. */
  describe(mail: Mail): void
  /** A second call does nothing. */
  end(ending: MailEnd): void
}

/** Receives the mails of the process. */
export interface MailObserver {
  /**
   * Called in the context of the work that sends the mail, with its code on the stack; `undefined`
   * if it is not recorded.
   */
  begin(mail: Mail): MailRun | undefined
}

/** Libraries send mails for the process, so its observers belong to it, too. */
const observers: MailObserver['begin'][] = []

/** Passes the mails of the process to an observer, until the returned function is called. */
export function observeMails(observer: MailObserver): () => void {
  return addTo(observers, guard('a mail', observer.begin.bind(observer)))
}

/** Reports that a mail is being sent; `undefined` if nothing records it. */
export function beginMail(mail: Mail): MailRun | undefined {
  const run = findFirst(observers, begin => begin(mail))
  return run && { describe: guard('a mail', run.describe), end: guard('a mail', run.end) }
}

/** Decides that mails are not sent, for development only. */
export interface MailKeeper {
  isOn(): boolean
  /** Called for each mail that was not sent. */
  note(mail: Mail): void
}

const keepers: MailKeeper[] = []

const mailShape: ShapeOf<Mail> = {
  from: 'string',
  to: ['string'],
  cc: ['string'],
  bcc: ['string'],
  replyTo: ['string'],
  subject: 'string',
  headers: 'list',
  text: 'string',
  html: 'string',
  unread: 'list',
  attachments: [{ name: 'string', type: 'string', size: 'number' }],
  envelope: { from: 'string', to: ['string'] },
  transport: 'string',
}

/** Keeps mails from being sent, until the returned function is called. */
export function keepMails(keeper: MailKeeper): () => void {
  return addTo(keepers, keeper)
}

/** Whether a mail must not be sent: its sender gets a result as if it was. */
export function isMailKept(mail: Mail): boolean {
  const keeper = keepers.find(each => each.isOn())
  keeper?.note(mail)
  return keeper !== undefined
}

/** Whether a mail may be kept. */
export function areMailsKept(): boolean {
  return keepers.some(each => each.isOn())
}

/**
 * Sends a mail by a function, for libraries that the profiler does not know: the mail is in the profile of the work
 * that sends it. With `PROFILER_MAILS=keep`, in development, `keep` is called instead: it returns what `send`
 * would. Returns its result, and passes its error on. Without the profiler, as in production, it only calls `send`.
 */
export function recordMail<result>(mail: Mail, send: () => result, keep: () => result): result {
  checkArguments('recordMail(mail, send, keep)', ['object', 'function', 'function'], mail, send, keep)
  checkOptions('recordMail(mail, send, keep)', mail, mailShape)
  const run = beginMail(mail)
  const isKept = isMailKept(mail)
  const work = isKept ? keep : send
  if (run === undefined) return work()
  return runUnit({ end: ending => run.end('error' in ending ? { error: ending.error } : { isKept }) }, work)
}
