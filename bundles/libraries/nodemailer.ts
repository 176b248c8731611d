import { tracingChannel } from 'node:diagnostics_channel'
import { statSync } from 'node:fs'
import path from 'node:path'
import { types } from 'node:util'
import {
  areMailsKept,
  beginMail,
  isMailKept,
  type Mail,
  type MailAttachment,
  type MailEnd,
  type MailRun,
} from '../../kernel/contracts/mails.ts'
import { endWith, type UnitEnd } from '../../kernel/contracts/units.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype } from './framework-calls.ts'
import { carryRequests, type Library } from './library.ts'

/** Mails of all transports. Plugins may complete a mail while it is compiled, so it is read again behind them. */
export const nodemailer: Library = {
  name: 'nodemailer',
  reports: 'mails',
  seenBy: 'patch',
  bundledText: 'Greeting never received',
  notSeen: 'text and HTML that are files or streams; mails without `createTransport`',
  changes: {
    'nodemailer/lib/mailer/index.js': mailer => watchMailer(Object(mailer).prototype),
    'nodemailer/dist/cjs/mailer/index.js': exports => watchMailer(Object(Object(exports).default).prototype),
  },
  // Since version 10, its ES modules are no CommonJS.
  opens: {
    nodemailer: async folder => watchMailer(await loadPrototype(path.join(folder, 'dist/esm/mailer/index.js'))),
  },
  // A pool calls back in the context of its connection, which another request may have opened.
  watch: ({ context }) => carryRequests(context, [channelName]),
}

interface Transport {
  readonly name?: unknown
  readonly options?: { readonly host?: unknown; readonly port?: unknown } | undefined
  send(mail: CompiledMail, done: SendDone): unknown
}

type SendDone = (error: unknown, info?: object) => unknown

/** A mail as a transport gets it. */
interface CompiledMail {
  readonly data: MailData
  readonly message?: Message
}

interface Message {
  getEnvelope(): { readonly from?: unknown; readonly to?: unknown }
  messageId(): string
  createReadStream(): NodeJS.ReadableStream
  readonly _headers?: unknown
  /** The parts of a message: attachments have a name. */
  readonly childNodes?: readonly Message[]
  readonly filename?: unknown
  getHeader(name: string): unknown
}

/** The documented fields. An application may have given anything. */
type MailData = Readonly<Partial<Record<keyof Mail | 'icalEvent' | 'alternatives', unknown>>>

/** Mails that are not sent by a network or a program: nothing is kept of them. */
const localTransports: readonly unknown[] = ['StreamTransport', 'JSONTransport']

function watchMailer(prototype: object | undefined): void {
  let begun: Sending | undefined
  const sendings = new WeakMap<object, Sending>()
  observeMethod(prototype, 'sendMail', (self, args) => {
    const { _defaults, transporter } = self as { readonly transporter: Transport; readonly _defaults?: object }
    if (areMailsKept()) watchTransport(transporter)
    const data = { ..._defaults, ...Object(args[0]) } as MailData
    const run = beginMail(describeMail(data, transporter))
    if (run === undefined) return undefined
    const sending: Sending = { run, transporter }
    channel.start.publish(sending)
    // The first plugins run at once.
    begun = sending
    if (typeof args[1] === 'function') args[1] = followCallback(args[1] as AnyFunction, sending)
    return {
      after(result) {
        begun = undefined
        return types.isPromise(result) ? endWith({ end: ending => endPromise(run, ending) }, result) : result
      },
    }
  })
  observeMethod(prototype, '_processPlugins', (_, [step, compiled]) => {
    const mail = compiled as CompiledMail
    if (step === 'compile' && begun !== undefined) sendings.set(mail, begun)
    if (step !== 'compile') {
      const sending = sendings.get(mail)
      sending?.run.describe(describeMail(mail.data, sending.transporter, mail.message))
    }
  })
}

/** A mail on its way. */
interface Sending {
  readonly run: MailRun
  readonly transporter: Transport
}

const channelName = 'sinfonietta:nodemailer:send'
const channel = tracingChannel<object>(channelName)

function endPromise(run: MailRun, { result, ...failed }: UnitEnd): void {
  run.end('error' in failed ? failed : toEnd(result))
}

function followCallback(callback: AnyFunction, sending: Sending): AnyFunction {
  return observeCalls(callback, (_, [error, info]) => {
    sending.run.end(error ? { error } : toEnd(info))
    channel.asyncStart.publish(sending)
    return { after: () => void channel.asyncEnd.publish(sending) }
  })
}

/** The results of mails that were not sent. */
const kept = new WeakSet<object>()

const watched = new WeakSet<object>()

/** A transport keeps mails if that is wanted when it gets them. */
function watchTransport(transporter: Transport): void {
  if (watched.has(transporter) || localTransports.includes(transporter.name)) return
  watched.add(transporter)
  observeMethod(transporter, 'send', (_, [compiled]) => {
    const { data, message } = compiled as CompiledMail
    const isKept = message !== undefined && isMailKept(describeMail(data, transporter, message))
    // It gets the arguments of the method.
    return isKept ? (keepMail as AnyFunction) : undefined
  })
}

/**
 * Reads the whole message, as a transport does: what cannot be read fails. The result is that of a
 * server that takes the mail.
 */
function keepMail({ message }: CompiledMail & { readonly message: Message }, done: SendDone): void {
  const { from, to } = message.getEnvelope()
  const envelope = { from, to: toTexts(to) }
  const messageId = message.messageId()
  let messageSize = 0
  message
    .createReadStream()
    .on('data', chunk => {
      messageSize += chunk.length
    })
    .on('error', error => done(error))
    .on('end', () => {
      const times = { envelopeTime: 0, messageTime: 0, messageSize }
      const info = { accepted: envelope.to, rejected: [], ehlo: [], ...times }
      const result = { ...info, response: '250 2.0.0 Ok: queued', envelope, messageId }
      kept.add(result)
      done(null, result)
    })
}

function toEnd(given: unknown): MailEnd {
  const { messageId, rejected, response } = Object(given)
  return {
    ...(typeof response === 'string' && { response }),
    ...(typeof messageId === 'string' && { messageId }),
    ...(Array.isArray(rejected) && { rejected: toTexts(rejected) }),
    isKept: kept.has(Object(given)),
  }
}

function describeMail(data: MailData, { name, options }: Transport, message?: Message): Mail {
  const { from, replyTo, subject } = data
  const { host, port } = options ?? {}
  const server = typeof host === 'string' ? [`${host}${typeof port === 'number' ? `:${port}` : ''}`] : []
  const isUnread = (given: unknown) => (given ?? '') !== '' && toContent(given) === undefined
  const { from: sender, to = [] } = message?.getEnvelope() ?? {}
  return {
    from: toAddresses(from)[0],
    to: toAddresses(data.to),
    cc: toAddresses(data.cc),
    bcc: toAddresses(data.bcc),
    replyTo: toAddresses(replyTo),
    subject: typeof subject === 'string' ? subject : undefined,
    headers: listHeaders(message?._headers),
    text: toContent(data.text),
    html: toContent(data.html),
    unread: (['text', 'HTML'] as const).filter(label => isUnread(label === 'text' ? data.text : data.html)),
    attachments: listAttachments(data, listTypes(message)),
    ...(message !== undefined && { envelope: { from: toTexts(sender)[0] ?? '', to: toTexts(to) } }),
    transport: [String(name), ...server].join(' '),
  }
}

/** Writes addresses: each is a text, or has a name and an address. */
function toAddresses(given: unknown): string[] {
  return [given].flat().flatMap(each => {
    if (typeof each === 'string') return each === '' ? [] : each
    const { address, name } = Object(each)
    if (typeof address !== 'string') return []
    return typeof name === 'string' && name !== '' ? `${name} <${address}>` : address
  })
}

function toTexts(given: unknown): string[] {
  return [given].flat().filter(each => typeof each === 'string')
}

/** A text that was given as such, or as bytes; `undefined` for a file or a stream. */
function toContent(given: unknown): string | undefined {
  if (typeof given === 'string') return given
  if (given instanceof Uint8Array) return Buffer.from(given).toString()
  const { content, encoding } = Object(given)
  if (typeof content === 'string' && typeof encoding === 'string' && Buffer.isEncoding(encoding))
    return Buffer.from(content, encoding).toString()
  return content === undefined ? undefined : toContent(content)
}

/** The headers with fields of their own. */
const ownHeaders = /^(?:from|to|cc|bcc|reply-to|subject|message-id|content-.*|mime-version)$/i

function listHeaders(given: unknown): [name: string, value: string][] {
  const all: readonly unknown[] = Array.isArray(given) ? given : []
  return all.flatMap(each => {
    const { key, value } = Object(each)
    if (typeof key !== 'string' || ownHeaders.test(key)) return []
    return [value].flat().map((value): [string, string] => {
      const { value: prepared = value } = Object(value)
      return [key, String(prepared)]
    })
  })
}

/** The types of attachments by their names: nodemailer guesses those that are not given. */
function listTypes(part: Message | undefined): (readonly [name: string, type: string])[] {
  if (part === undefined) return []
  const { childNodes = [], filename } = part
  const type = typeof filename === 'string' ? part.getHeader('Content-Type') : undefined
  const own = typeof type === 'string' ? [[String(filename), type.replace(/;.*/s, '')] as const] : []
  return [...own, ...childNodes.flatMap(listTypes)]
}

function listAttachments(
  { alternatives, attachments, icalEvent }: MailData,
  types: ReturnType<typeof listTypes>,
): MailAttachment[] {
  const known = new Map(types)
  const files = [attachments ?? []].flat().map((each, index) => toAttachment(each, `attachment-${index + 1}`))
  const others = [alternatives ?? []].flat().map(each => toAttachment(each, 'alternative'))
  const event = icalEvent ? [{ type: 'text/calendar', ...toAttachment(icalEvent, 'invite.ics') }] : []
  return [...files, ...others, ...event].map(each => ({ ...each, type: each.type ?? known.get(each.name) }))
}

/** Describes an attachment. The name of a file or of an address is its last part. */
function toAttachment(given: unknown, otherName: string): MailAttachment {
  const { content, contentType, encoding, filename, href, path: place = href } = Object(given)
  const isFile = typeof place === 'string' && !place.startsWith('data:')
  const last = isFile
    ? place
        .replace(/[?#].*$/, '')
        .split(/[\\/]/)
        .at(-1)
    : ''
  const isText = typeof content === 'string'
  const bytes =
    isText && Buffer.isEncoding(encoding)
      ? Buffer.byteLength(content, encoding)
      : Buffer.byteLength(isText ? content : '')
  const size = isText ? bytes : content instanceof Uint8Array ? content.length : isFile ? sizeOfFile(place) : undefined
  return {
    name: typeof filename === 'string' && filename !== '' ? filename : last || otherName,
    ...(typeof contentType === 'string' && { type: contentType }),
    ...(size !== undefined && { size }),
  }
}

function sizeOfFile(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}
