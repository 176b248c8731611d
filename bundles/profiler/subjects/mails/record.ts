import { keepMails, type Mail, type MailEnd, type MailRun, observeMails } from '../../../../kernel/contracts/mails.ts'
import { flattenError } from '../../../../lib/errors/flat-error.ts'
import { maskLinks } from '../../../../lib/redact/mask-text.ts'
import { type CopyBounds, MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { type Caller, Callers } from '../../../../lib/stack/callers.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type ContentCopier, copyHeaders } from '../../record/copy.ts'
import { MoreWorkCounter } from '../../record/more-work.ts'
import type { RecordedProcess, RecordedSubject } from '../../record/recorded-subject.ts'
import { TracePart, type WorkOwner } from '../../record/trace.ts'
import { profilerSettings } from '../../settings.ts'
import type { MailData } from './data.ts'
import { isLateMail } from './read.ts'

/** The mails that are sent, and those that are kept from being sent. */
export const mailsSubject: RecordedSubject = {
  observeProcess: process => keepInDevelopment(process),
  createCollectors: ({ redactor }, { contents }) => [createMailsCollector(redactor, contents)],
  observeLibraries({ directory }, { findRunning, findTrace }) {
    const callers = new Callers(directory)
    function begin(mail: Mail) {
      const trace = findTrace()
      return trace && mailPart.of(trace).begin(mail, () => callers.find() ?? findRunning(trace), trace)
    }
    return [observeMails({ begin })]
  },
}

/** In production mails are sent, whatever the setting says; also if the application says later that it is there. */
function keepInDevelopment({ debugGate, logger, settings }: RecordedProcess): (() => void)[] {
  if (!debugGate.isDebug || settings.of(profilerSettings).PROFILER_MAILS !== 'keep') return []
  const own = logger.channel('profiler')
  own.warning('Mails are not sent, because PROFILER_MAILS is keep.')
  return [
    keepMails({
      isOn: () => process.env.NODE_ENV !== 'production',
      note: ({ subject = '' }) => own.info('The mail "{subject}" was not sent.', { subject }),
    }),
  ]
}

const mailLimit = 50

/** Over the limit, so many mails that have failed have details, too. */
const failedLimit = 20

/** The mails of one request, in the order in which they began. */
class MailsTrace {
  readonly mails: TracedMail[] = []
  count = 0
  readonly more = new MoreWorkCounter()

  begin(mail: Mail, findCaller: () => Caller | undefined, owner: WorkOwner): TracedMail {
    this.count++
    const isListed = this.mails.length < mailLimit
    const traced = new TracedMail(mail, isListed ? findCaller() : undefined, owner, isListed ? undefined : this)
    if (isListed) this.mails.push(traced)
    owner.touch()
    return traced
  }

  /** Adds a mail over the limit that has ended. */
  add(mail: TracedMail, end: number, hasFailed: boolean): void {
    if (hasFailed && this.mails.length < mailLimit + failedLimit) this.mails.push(mail)
    else this.more.add(mail.start, end, hasFailed)
  }
}

/** One mail. Times are in milliseconds since the request began. */
class TracedMail implements MailRun {
  mail: Mail
  readonly start: number
  readonly caller: Caller | undefined
  /** When it was over, and how. */
  endedAt: number | undefined
  ending: MailEnd | undefined
  readonly #owner: WorkOwner
  /** Of a mail over the limit: it is only counted and timed, unless it fails. */
  readonly #more: MailsTrace | undefined

  constructor(mail: Mail, caller: Caller | undefined, owner: WorkOwner, more: MailsTrace | undefined) {
    this.mail = mail
    this.caller = caller
    this.#owner = owner
    this.#more = more
    this.start = roundTime(owner.elapsed())
  }

  readonly describe = (mail: Mail): void => {
    this.mail = mail
  }

  readonly end = (ending: MailEnd): void => {
    if (this.endedAt !== undefined) return
    this.endedAt = roundTime(this.#owner.elapsed())
    this.ending = ending
    this.#more?.add(this, this.endedAt, 'error' in ending)
    this.#owner.touch()
  }
}

const mailPart: TracePart<MailsTrace> = new TracePart(() => new MailsTrace())

function createMailsCollector(redactor: Redactor, contents: ContentCopier): CollectorOf<'mails'> {
  /** Late work collects the mails of a request again, but those that have ended stay the same. */
  const described = new WeakMap<TracedMail, MailData>()
  return {
    name: 'mails',
    collectsLate: true,
    collect(trace) {
      const part = mailPart.find(trace)
      if (part === undefined) return undefined
      const describer = new MailDescriber(redactor, contents)
      const mails = part.mails.toSorted((one, other) => one.start - other.start)
      return {
        mails: mails.map(mail => {
          const data = described.get(mail) ?? describer.describe(mail)
          if (mail.endedAt !== undefined) described.set(mail, data)
          return data
        }),
        omitted: part.count - mails.length,
        more: part.more.toData(),
      }
    },
    summarize(trace) {
      const part = mailPart.find(trace)
      return part === undefined ? noMails : { mails: part.count }
    },
    hasWorked(trace, since) {
      const { mails = [], more } = mailPart.find(trace) ?? {}
      return mails.some(({ endedAt: end }) => isLateMail({ end }, since)) || (more !== undefined && more.latest > since)
    },
  }
}

const noMails = {}

/** Characters of the texts and the HTML of all mails of a request. */
const contentsLimit = 192 * 1024

/** Characters of a subject, and of other texts of one line. */
const lineLimit = 500

/** Recipients of one kind, attachments, and headers of a mail. */
const listLimit = 100

const headerBounds: CopyBounds = { depth: 1, entries: listLimit, text: 1000, total: 16_384 }

/** Masks and shortens the mails of one request. */
class MailDescriber {
  readonly #redactor: Redactor
  readonly #contents: ContentCopier
  #left = contentsLimit

  constructor(redactor: Redactor, contents: ContentCopier) {
    this.#redactor = redactor
    this.#contents = contents
  }

  describe({ caller, endedAt, ending = {}, mail, start }: TracedMail): MailData {
    const { attachments = [], envelope, from = '', headers = [], subject = '', transport = '' } = mail
    const { isKept, messageId, rejected = [], response } = ending
    const failure: MailFailure = 'error' in ending ? readFailure(ending.error) : { answer: response }
    return {
      start,
      end: endedAt,
      transport: this.#line(transport),
      from: this.#line(from),
      to: this.#lines(mail.to) ?? [],
      cc: this.#lines(mail.cc),
      bcc: this.#lines(mail.bcc),
      replyTo: this.#lines(mail.replyTo),
      subject: this.#line(subject),
      headers: copyHeaders(
        { toRaw: () => headers.slice(0, listLimit).flatMap(([name, value]) => [name, maskLinks(value)]) },
        new MaskingCopier(this.#redactor, headerBounds),
      ),
      text: this.#content(mail.text, 'text/plain'),
      html: this.#content(mail.html, 'text/html'),
      unread: mail.unread?.length === 0 ? undefined : mail.unread,
      attachments: attachments.slice(0, listLimit).map(({ name, size, type = '' }) => ({
        ...{ name: this.#line(name), type: this.#line(type) },
        ...(size !== undefined && { size }),
      })),
      envelope: envelope && { from: this.#line(envelope.from), to: this.#lines(envelope.to) ?? [] },
      messageId: this.#maybe(messageId),
      response: this.#maybe(failure.answer),
      error: this.#maybe(failure.message),
      code: this.#maybe(failure.code),
      rejected: this.#lines(rejected),
      isKept: isKept === true ? true : undefined,
      caller,
    }
  }

  #line(text: string): string {
    return maskAndCut(maskLinks(text), lineLimit, this.#redactor)
  }

  #maybe(text: string | undefined): string | undefined {
    return text === undefined ? undefined : this.#line(text)
  }

  #lines(texts: readonly string[] = []): string[] | undefined {
    return texts.length === 0 ? undefined : texts.slice(0, listLimit).map(text => this.#line(text))
  }

  #content(body: string | undefined, type: string) {
    if (body === undefined || body === '') return undefined
    if (this.#left <= 0) return { type, length: Buffer.byteLength(body), note: 'Not stored: too many mails at once.' }
    const content = this.#contents.copy({ body, type, encoding: '', hide: maskLinks })
    this.#left -= content?.text?.length ?? 0
    return content
  }
}

/** What is known of a failure: an error may have an empty message. */
interface MailFailure {
  readonly message?: string
  readonly code?: string
  /** The answer of the server, also without a failure. */
  readonly answer?: string | undefined
}

function readFailure(error: unknown): MailFailure {
  const { code, message, name } = flattenError(error, { hasFrames: false })
  const { response } = Object(error)
  return {
    message: message || name,
    ...(code !== undefined && { code: String(code) }),
    ...(typeof response === 'string' && { answer: response }),
  }
}
